package json

// names finds numbers by name. Few names are compared one by one, which costs a
// load of one row less than making a map.
type names struct {
	list []string
	nums []int
	all  map[string]int
}

// fewNames are searched without a map.
const fewNames = 24

func newNames(n int) names {
	if n > fewNames {
		return names{all: make(map[string]int, n)}
	}
	return names{list: make([]string, 0, n), nums: make([]int, 0, n)}
}

func (x *names) add(name string, num int) {
	if x.all != nil {
		x.all[name] = num
		return
	}
	x.list, x.nums = append(x.list, name), append(x.nums, num)
}

func (x *names) find(name []byte) (num int, ok bool) {
	if x.all != nil {
		num, ok = x.all[string(name)]
		return num, ok
	}
	for i, s := range x.list {
		if s == string(name) {
			return x.nums[i], true
		}
	}
	return 0, false
}

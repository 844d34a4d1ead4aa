package conf

// nearest is the key that is most like name, if any is like it at all.
func (k *Keys) nearest(name string) string {
	best, at := "", max(2, len(name)/3)+1
	for _, f := range k.fields {
		if d := distance(name, f.Key); d < at {
			best, at = f.Key, d
		}
	}
	return best
}

// distance is the number of letters to put in, take out or change to make b
// of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

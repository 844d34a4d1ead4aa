package translate_test

import (
	"testing"

	"dorisgo/sql/translate"
)

func BenchmarkSelect(b *testing.B) {
	e := env(b)
	for name, sql := range map[string]string{
		"constant": "select @@version_comment limit 1",
		"point":    "select * from users where id = 17",
		"report":   "select u.city, count(*) c, sum(o.amount) from users u join orders o on u.id = o.user_id where o.at >= '2024-01-01' group by u.city having c > 1 order by c desc limit 10",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := translate.Select(sql, e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

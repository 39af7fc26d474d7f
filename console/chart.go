package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
)

// The size of a chart in units of its drawing, which is stretched to its place.
const (
	chartStep   = 10 // of a day
	chartHeight = 100
)

// chart is a column for each day of a month, ready to be drawn.
type chart struct {
	Width, Height int
	Columns       []column
	Top, Middle   string // values at the top of the chart and halfway up
	Days          [3]int // written below: the first, one in the middle, the last
	Label         string // what the chart says, for who cannot see it
	Sum           string
}

// column is one day of a chart.
type column struct {
	X, Y, Width, Height float64
	Day                 string
	Value               string
	Sums                accounts.Sums
}

// newChart draws what was used on the days of a month.
func newChart(t accounts.Total, month time.Time, measure string) chart {
	n := month.AddDate(0, 1, -1).Day()
	c := chart{Width: n * chartStep, Height: chartHeight, Days: [3]int{1, (n + 1) / 2, n}}
	largest, most := 0.0, 1
	for day, sums := range t.Days {
		if value := measured(sums, measure); value > largest {
			largest, most = value, day
		}
	}
	top := roundUp(largest)
	for day := 1; day <= n; day++ {
		sums := t.Days[day]
		value, height := measured(sums, measure), 0.0
		if top > 0 {
			height = value / top * chartHeight
		}
		if value > 0 {
			height = max(height, 1) // a little is not nothing
		}
		c.Columns = append(c.Columns, column{
			X: float64((day-1)*chartStep) + 1.5, Y: chartHeight - height, Width: chartStep - 3, Height: height,
			Day: month.AddDate(0, 0, day-1).Format(time.DateOnly), Value: valueText(value, measure), Sums: sums,
		})
	}
	c.Top, c.Middle = valueText(top, measure), valueText(top/2, measure)
	c.Sum = valueText(measured(t.Sum(), measure), measure)
	c.Label = fmt.Sprintf("%s by day in %s: %s in all, at most %s on the %s", measure, month.Format("January 2006"),
		c.Sum, valueText(largest, measure), month.AddDate(0, 0, most-1).Format("2 January"))
	if largest == 0 {
		c.Label = fmt.Sprintf("%s by day in %s: nothing", measure, month.Format("January 2006"))
	}
	return c
}

// roundUp returns the next number above that is short to write: 1, 2 or 5 and
// zeros.
func roundUp(value float64) float64 {
	if value <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(value)))
	for _, steps := range []float64{1, 2, 5} {
		if value <= steps*unit*(1+1e-9) {
			return steps * unit
		}
	}
	return 10 * unit
}

// measured is what sums have of a measure, money in dollars.
func measured(s accounts.Sums, measure string) float64 {
	switch measure {
	case "requests":
		return float64(s.Requests)
	case "tokens":
		return float64(s.InputTokens + s.OutputTokens)
	}
	return float64(s.Cost) / float64(accounts.Dollar)
}

func valueText(value float64, measure string) string {
	if measure == "cost" {
		return dollarText(value)
	}
	if value != math.Trunc(value) {
		return strconv.FormatFloat(value, 'f', 1, 64)
	}
	return grouped(int64(value))
}

// dollarText writes dollars with cents, and below one with as many digits as it
// takes to be something.
func dollarText(value float64) string {
	if value == 0 || value >= 1 {
		return money(accounts.Micros(math.Round(value * float64(accounts.Dollar))))
	}
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(value, 'f', 6, 64), ".")
	for len(fraction) > 2 && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	return "$" + whole + "." + fraction
}

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	if n < 0 {
		return "−" + groupedText(strconv.FormatInt(-n, 10))
	}
	return groupedText(strconv.FormatInt(n, 10))
}

// groupedAny is grouped for templates, which have counts of both kinds.
func groupedAny(n any) (string, error) {
	switch n := n.(type) {
	case int:
		return grouped(int64(n)), nil
	case int64:
		return grouped(n), nil
	}
	return "", fmt.Errorf("console: %T is no count", n)
}

func groupedText(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// money writes an amount as people read it: with cents, or where it is less than
// a dollar and no whole cents, in full.
func money(m accounts.Micros) string {
	const cent = accounts.Dollar / 100
	sign := ""
	if m < 0 {
		sign, m = "−", -m
	}
	if m < accounts.Dollar && m%cent != 0 {
		return fmt.Sprintf("%s$0.%06d", sign, int64(m))
	}
	cents := int64((m + cent/2) / cent)
	return fmt.Sprintf("%s$%s.%02d", sign, grouped(cents/100), cents%100)
}

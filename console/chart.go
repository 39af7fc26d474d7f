package console

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// maxDays is how many days a chart has.
const maxDays = 31

// The size of a chart, in units of its drawing.
const (
	chartWidth  = 640
	chartHeight = 160
	chartFoot   = 20 // for the dates
)

// chart is a column for each day, ready to be drawn.
type chart struct {
	Width, Height int
	Base          int // where the columns stand
	Columns       []column
	Largest       string // the value of the highest column
	Label         string // what the chart says, for who cannot see it
}

// column is one day of a chart.
type column struct {
	X, Y, Width, Height float64
	Day, Value          string
	Dated               bool // whether the day is written below it
}

// newChart draws the values of days, the last ones up to the newest.
func newChart(values map[string]float64, measure string) chart {
	c := chart{Width: chartWidth, Height: chartHeight, Base: chartHeight - chartFoot}
	if len(values) == 0 {
		return c
	}
	days := slices.Sorted(maps.Keys(values))
	last, err := time.Parse(time.DateOnly, days[len(days)-1])
	if err != nil {
		return c
	}
	first, err := time.Parse(time.DateOnly, days[0])
	if err != nil {
		return c
	}
	n := min(int(last.Sub(first).Hours()/24)+1, maxDays)
	largest := slices.Max(slices.Collect(maps.Values(values)))
	step := float64(chartWidth) / float64(n)
	for i := range n {
		day := last.AddDate(0, 0, i-n+1).Format(time.DateOnly)
		height := 0.0
		if largest > 0 {
			height = values[day] / largest * float64(c.Base-10)
		}
		c.Columns = append(c.Columns, column{
			X: float64(i)*step + step*0.15, Y: float64(c.Base) - height, Width: min(step*0.7, 48), Height: height,
			Day: day, Value: valueText(values[day], measure), Dated: i == 0 || i == n-1 && n > 1,
		})
	}
	c.Largest = valueText(largest, measure)
	c.Label = fmt.Sprintf("%s by day from %s to %s; at most %s on a day", measure, c.Columns[0].Day, c.Columns[n-1].Day, c.Largest)
	return c
}

func valueText(value float64, measure string) string {
	if measure == "cost" {
		return fmt.Sprintf("$%.4f", value)
	}
	return fmt.Sprintf("%.0f", value)
}

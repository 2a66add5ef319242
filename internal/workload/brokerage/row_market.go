package brokerage

import "github.com/loadstone-perf/loadstone/internal/rng"

func companyRows(m *maker, batch int64) error {
	return unitOf(batch, companiesUnit, func(n int64) error {
		m.draws("company", n)
		m.int(n + 1)
		m.word("ACTV")
		m.field(m.appendCompany(m.buf, n))
		m.field(appendLetters(m.buf, industryOf(n), 2))
		m.word([...]string{"AAA ", "AA  ", "A   ", "BBB ", "BB  ", "B   "}[m.s.IntN(6)])
		m.word(pick(&m.s, m.words.first), " ", pick(&m.s, m.words.last))
		m.int(companyAddress(n))
		m.prose(m.s.Between(60, 140))
		m.day(m.s.Between(0, firstDay))
		return m.end()
	})
}

func competitorRows(m *maker, batch int64) error {
	return unitOf(batch, companiesUnit, func(n int64) error {
		for k := int64(1); k <= competitors; k++ {
			m.begin()
			m.int(n + 1)
			m.int(m.competitor(n, k) + 1)
			m.field(appendLetters(m.buf, industryOf(n), 2))
			if err := m.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

// quarterStart is the first day of quarter q, from 0, of the years 2000 to
// 2004.
func quarterStart(q int64) int64 {
	const start = 10_957 // 2000-01-01
	leap := int64(0)
	if q/4%4 == 0 {
		leap = 1
	}
	past := int64(0) // leap days in earlier years
	if q >= 4 {
		past = 1
	}
	return start + q/4*365 + past + [4]int64{0, 90 + leap, 181 + leap, 273 + leap}[q%4]
}

func financialRows(m *maker, batch int64) error {
	return unitOf(batch, companiesUnit, func(n int64) error {
		for q := range int64(quarters) {
			m.draws("financial", n*quarters+q)
			revenue := m.s.Between(1_000_000_00, 10_000_000_000_00)
			earned := revenue * m.s.Between(5, 25) / 100
			out := m.s.Between(10_000_000, 10_000_000_000)
			m.int(n + 1)
			m.int(2000 + q/4)
			m.int(q%4 + 1)
			m.day(quarterStart(q))
			m.fixed(revenue)
			m.fixed(earned)
			m.fixed(earned / out)
			m.fixed(earned / (out + out/50))
			m.fixed(100 * earned / revenue)
			m.fixed(m.s.Between(1_000_000_00, 1_000_000_000_00))
			m.fixed(m.s.Between(10_000_000_00, 100_000_000_000_00))
			m.fixed(m.s.Between(1_000_000_00, 10_000_000_000_00))
			m.int(out)
			m.int(out + out/50)
			if err := m.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

// newsRows makes news items, two for each company.
func newsRows(m *maker, batch int64) error {
	return unitOf(batch, newsPerBatch, func(n int64) error {
		m.draws("news_item", n)
		m.int(n + 1)
		m.prose(m.s.Between(40, 80))
		m.prose(m.s.Between(120, 255))
		m.prose(m.s.Between(m.newsBytes*95/100, m.newsBytes))
		m.at(opened - m.s.IntN(50*fullDay))
		m.word(pick(&m.s, m.words.town), " Courier")
		m.word(pick(&m.s, m.words.first), " ", pick(&m.s, m.words.last))
		return m.end()
	})
}

func newsReferenceRows(m *maker, batch int64) error {
	return unitOf(batch, unitSize, func(n int64) error {
		m.begin()
		m.int(n + 1)
		m.int(n/2 + 1)
		return m.end()
	})
}

func securityRows(m *maker, batch int64) error {
	return unitOf(batch, securitiesUnit, func(n int64) error {
		m.draws("security", n)
		company, issue := companyOf(n)
		start := m.s.Between(0, firstDay)
		m.symbol(n)
		m.word(issueName(issue))
		m.word("ACTV")
		m.field(m.appendSecurity(m.buf, n))
		m.word(exchangeName(exchangeOf(n)))
		m.int(company + 1)
		m.int(m.s.Between(4_000_000, 9_500_000_000))
		m.day(start)
		m.day(start + m.s.Between(1, 700))
		m.fixed(m.s.Between(1_00, 120_00))
		m.fixed(m.s.Between(29_00, 30_00))
		m.day(dayOf(opened) - m.s.Between(1, 365))
		m.fixed(m.s.Between(20_00, 21_00))
		m.day(dayOf(opened) - m.s.Between(1, 365))
		m.fixed(m.s.Between(0, 10_00))
		m.fixed(m.s.Between(0, 9_99))
		return m.end()
	})
}

// lastTradeRows makes the prices at which runs begin. Nothing was traded yet
// on that day.
func lastTradeRows(m *maker, batch int64) error {
	return unitOf(batch, securitiesUnit, func(n int64) error {
		m.begin()
		m.symbol(n)
		m.at(m.begins())
		m.fixed(m.price(n, m.begins()))
		m.fixed(m.price(n, m.begins()))
		m.int(0)
		return m.end()
	})
}

func dailyRows(m *maker, batch int64) error {
	return unitOf(batch, symbolsPerBatch, func(n int64) error {
		m.s = rng.At(m.seed, rng.Name("daily_market"), uint64(n))
		for k := range m.marketDays {
			end := m.s.Between(priceLow, priceHigh)
			m.begin()
			m.day(m.marketDay(k))
			m.symbol(n)
			m.fixed(end)
			m.fixed(end + m.s.Between(0, 1_50))
			m.fixed(end - m.s.Between(0, 1_50))
			m.int(m.s.Between(1_000, 10_000))
			if err := m.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

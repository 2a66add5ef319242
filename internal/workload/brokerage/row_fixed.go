package brokerage

import "strconv"

func statusRows(m *maker) error {
	for _, s := range [statuses][2]string{
		{"CMPT", "Completed"}, {"ACTV", "Active"}, {"SBMT", "Submitted"}, {"PNDG", "Pending"}, {"CNCL", "Cancelled"},
	} {
		m.begin()
		m.word(s[0])
		m.word(s[1])
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

func tradeTypeRows(m *maker) error {
	names := [kinds]string{"Market buy", "Market sell", "Stop loss", "Limit sell", "Limit buy"}
	for kind, name := range names {
		m.begin()
		m.word(kindName(kind))
		m.word(name)
		m.bit(isSell(kind))
		m.bit(isMarket(kind))
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

// appendZip appends ZC_CODE number n, from 0.
func appendZip(b []byte, n int64) []byte { return appendDigits(b, 501+6*n, 5) }

func zipRows(m *maker) error {
	for n := range int64(zips) {
		m.draws("zip_code", n)
		m.field(appendZip(m.buf, n))
		m.word(pick(&m.s, m.words.town), [...]string{"ford", "ham", "mouth", "wick", "ley"}[m.s.IntN(5)])
		m.field(appendLetters(m.buf, n%50*13, 2))
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

func taxRows(m *maker) error {
	for n := range int64(taxes) {
		m.begin()
		m.field(appendTax(m.buf, n))
		if n < countryTaxes {
			m.field(strconv.AppendInt(append(m.buf, "Income tax of country class "...), n+1, 10))
		} else {
			m.field(strconv.AppendInt(append(m.buf, "Income tax of region "...), n-countryTaxes+1, 10))
		}
		m.fixed(m.rates[n])
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

func chargeRows(m *maker) error {
	for kind := range kinds {
		for tier := int64(1); tier <= tiers; tier++ {
			m.begin()
			m.word(kindName(kind))
			m.int(tier)
			m.fixed(chargeFor(kind, tier))
			if err := m.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

func commissionRows(m *maker) error {
	for n := range int64(tiers * kinds * exchanges * bands) {
		band, exchange := n%bands, n/bands%exchanges
		kind, tier := int(n/bands/exchanges%kinds), n/bands/exchanges/kinds+1
		from, to := int64(1), bandEnds()[band]
		if band > 0 {
			from = bandEnds()[band-1] + 1
		}
		m.begin()
		m.int(tier)
		m.word(kindName(kind))
		m.word(exchangeName(exchange))
		m.int(from)
		m.int(to)
		m.fixed(rateFor(kind, tier, exchange, to))
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

func exchangeRows(m *maker) error {
	for n := range int64(exchanges) {
		m.draws("exchange", n)
		m.word(exchangeName(n))
		m.word("Exchange of ", m.words.town[n], "port")
		m.int((m.securities() + exchanges - 1 - n) / exchanges)
		m.int(930)
		m.int(1600)
		m.prose(100)
		m.int(n + 1)
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

func sectorRows(m *maker) error {
	for n, name := range sectorNames() {
		m.begin()
		m.field(appendLetters(m.buf, int64(n), 2))
		m.word(name)
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

func industryRows(m *maker) error {
	for n := range int64(industries) {
		m.begin()
		m.field(appendLetters(m.buf, n, 2))
		m.word(sectorNames()[sectorOf(n)], " ", activities()[n/sectors])
		m.field(appendLetters(m.buf, sectorOf(n), 2))
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

// companyAddress and customerAddress are AD_ID of a company, from 0, and of a
// customer, from 1.
func companyAddress(company int64) int64 {
	unit := company / companiesUnit
	return exchanges + unit*(companiesUnit+unitSize) + company%companiesUnit + 1
}

func customerAddress(c int64) int64 {
	unit := (c - 1) / unitSize
	return exchanges + unit*(companiesUnit+unitSize) + companiesUnit + (c-1)%unitSize + 1
}

// addressRows makes the exchanges' addresses in batch 0, then those of one
// load unit's companies and customers a batch.
func addressRows(m *maker, batch int64) error {
	from, to := int64(1), int64(exchanges)
	if batch > 0 {
		const unit = companiesUnit + unitSize
		from, to = exchanges+(batch-1)*unit+1, exchanges+batch*unit
	}
	for n := from; n <= to; n++ {
		m.draws("address", n)
		m.int(n)
		b := append(strconv.AppendInt(m.buf, m.s.Between(1, 999), 10), ' ')
		b = append(append(b, pick(&m.s, m.words.street)...), ' ')
		m.field(append(b, pick(&m.s, m.words.kind)...))
		m.field(strconv.AppendInt(append(m.buf, "Unit "...), m.s.Between(1, 99), 10))
		m.field(appendZip(m.buf, m.s.IntN(zips)))
		m.word("Inland")
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

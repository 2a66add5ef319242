package brokerage

import "strconv"

func tradeRows(m *maker, batch int64) error {
	return m.history(batch).each(func(d *deal) error {
		m.begin()
		m.int(d.id)
		m.at(d.closed)
		m.word("CMPT")
		m.word(kindName(d.kind))
		m.bit(d.cash)
		m.symbol(d.security)
		m.int(d.quantity)
		m.fixed(d.price)
		m.int(d.account)
		m.field(m.appendLast(append(m.appendFirst(m.buf, d.customer), ' '), d.customer))
		m.fixed(d.price)
		m.fixed(d.charge)
		m.fixed(d.commission)
		m.fixed(d.tax)
		m.bit(d.lifo)
		return m.end()
	})
}

func tradeHistoryRows(m *maker, batch int64) error {
	return m.history(batch).each(func(d *deal) error {
		steps := [...]struct {
			at     int64
			status string
		}{{d.pended, "PNDG"}, {d.submitted, "SBMT"}, {d.closed, "CMPT"}}
		for _, s := range steps {
			if s.at == 0 {
				continue
			}
			m.begin()
			m.int(d.id)
			m.at(s.at)
			m.word(s.status)
			if err := m.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

// cashType is SE_CASH_TYPE.
func cashType(cash bool) string {
	if cash {
		return "Cash Account"
	}
	return "Margin"
}

// settleDays is how long after the trade SE_CASH_DUE_DATE is.
const settleDays = 2

func settlementRows(m *maker, batch int64) error {
	return m.history(batch).each(func(d *deal) error {
		m.begin()
		m.int(d.id)
		m.word(cashType(d.cash))
		m.day(dayOf(d.closed) + settleDays)
		m.fixed(d.amount)
		return m.end()
	})
}

// cashName appends CT_NAME: what was traded.
func cashName(b, kind []byte, quantity int64, security []byte) []byte {
	b = append(append(b, kind...), ' ')
	return append(append(strconv.AppendInt(b, quantity, 10), " shares of "...), security...)
}

// appendSecurity appends S_NAME.
func (w *world) appendSecurity(b []byte, security int64) []byte {
	company, issue := companyOf(security)
	return append(append(w.appendCompany(b, company), ' '), issueName(issue)...)
}

func cashRows(m *maker, batch int64) error {
	return m.history(batch).each(func(d *deal) error {
		if !d.cash {
			return nil
		}
		m.begin()
		m.int(d.id)
		m.at(d.closed)
		m.fixed(d.amount)
		var name [70]byte
		m.field(cashName(m.buf, []byte(kindName(d.kind)), d.quantity, m.appendSecurity(name[:0], d.security)))
		return m.end()
	})
}

func holdingHistoryRows(m *maker, batch int64) error {
	return m.history(batch).each(func(d *deal) error {
		for _, c := range d.changes {
			m.begin()
			m.int(c.lot)
			m.int(d.id)
			m.int(c.before)
			m.int(c.after)
			if err := m.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachPosition calls f with what every account of a load unit holds when all
// its trades are done.
func (m *maker) eachPosition(batch int64, f func(a *account, security int64, p position) error) error {
	h := m.history(batch)
	if err := h.each(func(*deal) error { return nil }); err != nil {
		return err
	}
	for i := range h.accounts {
		a := &h.accounts[i]
		for n := range a.securities {
			p := h.positions[int64(i)*mostSecurities+n]
			if len(p) == 0 {
				continue
			}
			if err := f(a, m.security(a, n), p); err != nil {
				return err
			}
		}
	}
	return nil
}

func holdingSummaryRows(m *maker, batch int64) error {
	return m.eachPosition(batch, func(a *account, security int64, p position) error {
		m.begin()
		m.int(a.id)
		m.symbol(security)
		m.int(p.quantity())
		return m.end()
	})
}

func holdingRows(m *maker, batch int64) error {
	return m.eachPosition(batch, func(a *account, security int64, p position) error {
		for _, l := range p {
			m.begin()
			m.int(l.trade)
			m.int(a.id)
			m.symbol(security)
			m.at(l.at)
			m.fixed(l.price)
			m.int(l.quantity)
			if err := m.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

package brokerage

import (
	"strconv"
	"sync"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// Cardinalities of the specification (chapter 2.6): of tables that do not
// grow, and a load unit's, which is 1,000 customers.
const (
	unitSize       = 1_000 // customers
	statuses       = 5
	tiers          = 3
	zips           = 14_741
	countryTaxes   = 20
	taxes          = 320
	exchanges      = 4
	bands          = 4 // of quantities, with a commission rate each
	sectors        = 12
	industries     = 102
	quarters       = 20 // of a company's reports
	competitors    = 3
	companiesUnit  = 500
	securitiesUnit = 685
	brokersPerUnit = 10
	accountSlots   = 10 // numbers kept for a customer's accounts
	mostSecurities = 18 // of an account
	leastWatched   = 50
	mostWatched    = 150
)

// Rows in one batch, where that is not those of a load unit.
const (
	newsPerBatch    = 50
	symbolsPerBatch = 5
)

// The types of trades.
const (
	marketBuy = iota
	marketSell
	stopLoss
	limitSell
	limitBuy
	kinds
)

// kindName is TT_ID, as in the trade's row.
func kindName(kind int) string { return [kinds]string{"TMB", "TMS", "TSL", "TLS", "TLB"}[kind] }

func isSell(kind int) bool   { return kind == marketSell || kind == stopLoss || kind == limitSell }
func isMarket(kind int) bool { return kind == marketBuy || kind == marketSell }

func exchangeName(n int64) string { return [exchanges]string{"NYSE", "NASDAQ", "AMEX", "PCX"}[n] }

// world is the database at the beginning: who there is and what they own. All
// of it follows from the parameters and the seed; it is read-only.
type world struct {
	seed       uint64
	customers  int64
	units      int64 // of 1,000 customers
	days       int64 // of trading before the beginning
	factor     int64 // customers for one nominal trade a second
	marketDays int64 // of DAILY_MARKET
	newsBytes  int64 // of NI_ITEM
	words      *words
	byRank     [unitSize]int64 // customers of a load unit by rank
	rates      [taxes]int64    // in hundred-thousandths
	estimate   func() sizes
}

func newWorld(seed uint64, customers, days, factor, marketDays, newsBytes int64) *world {
	w := &world{
		seed: seed, customers: customers, units: customers / unitSize, days: days, factor: factor,
		marketDays: marketDays, newsBytes: newsBytes, words: newWords(),
	}
	for i := range int64(unitSize) {
		w.byRank[rankOf(i)] = i
	}
	s := rng.At(seed, rng.Name("taxrate"))
	for i := range w.rates {
		if i < countryTaxes {
			w.rates[i] = s.Between(10_000, 40_000)
		} else {
			w.rates[i] = s.Between(0, 10_000)
		}
	}
	w.estimate = sync.OnceValue(w.sample)
	return w
}

func (w *world) companies() int64  { return companiesUnit * w.units }
func (w *world) securities() int64 { return securitiesUnit * w.units }
func (w *world) brokers() int64    { return brokersPerUnit * w.units }

// tradesPerUnit is how many trades a load unit begins with: one a second for
// each `factor` customers, eight hours a day.
func (w *world) tradesPerUnit() int64 { return w.days * daySeconds * unitSize / w.factor }

func (w *world) trades() int64 { return w.tradesPerUnit() * w.units }

// daySeconds is how long the market is open on a day.
const daySeconds = 8 * 3600

const (
	second  = int64(1_000_000) // in µs
	fullDay = 86_400 * second
)

// opened is when the first trade could happen: Monday, 2005-01-03 09:00 UTC, in
// µs since 1970.
const opened = 1_104_742_800 * second

// firstDay is the first day of DAILY_MARKET in full: 2000-01-03, a Monday, in
// days since 1970. Five years of weekdays follow.
const (
	firstDay       = 10_959
	fullMarketDays = 1_305
)

// weekday is the n-th weekday after Monday `from`, in days.
func weekday(from, n int64) int64 { return from + n/5*7 + n%5 }

// businessTime is the instant after so many µs of trading: eight hours a day,
// five days a week.
func businessTime(worked int64) int64 {
	const length = daySeconds * second
	return opened + weekday(0, worked/length)*fullDay + worked%length
}

// begins is the instant at which runs begin: the opening on the first day
// after the loaded trades.
func (w *world) begins() int64 { return businessTime(w.days * daySeconds * second) }

// marketDay is day n of DAILY_MARKET, from 0.
func (w *world) marketDay(n int64) int64 {
	return weekday(firstDay, fullMarketDays-w.marketDays+n)
}

// customer is what others need to know of one.
type customer struct {
	id       int64
	tier     int64
	accounts int64 // how many
	tax      [2]int64
}

func (w *world) customer(c int64) customer {
	s := rng.At(w.seed, rng.Name("customer"), uint64(c))
	out := customer{id: c, tier: tierOf(rankOf((c - 1) % unitSize))}
	switch out.tier {
	case 1:
		out.accounts = s.Between(1, 4)
	case 2:
		out.accounts = s.Between(2, 8)
	default:
		out.accounts = s.Between(5, 10)
	}
	out.tax = [2]int64{s.IntN(countryTaxes), s.Between(countryTaxes, taxes-1)}
	return out
}

// accountID is the number of a customer's account n, from 0.
func accountID(c, n int64) int64 { return (c-1)*accountSlots + n + 1 }

// customerOf is the owner of an account.
func customerOf(account int64) int64 { return (account-1)/accountSlots + 1 }

// account is a customer's account as it is at the beginning.
type account struct {
	id, broker int64
	taxStatus  int64 // 0 pays none, 1 has it withheld, 2 pays it himself
	balance    int64 // cents
	guests     int64 // how many others may trade for it
	guest      [2]int64
	securities int64 // how many it trades
	from, step int64 // which: from + n·step, modulo the number of securities
}

func (w *world) account(ca int64) account {
	s := rng.At(w.seed, rng.Name("account"), uint64(ca))
	c := customerOf(ca)
	out := account{id: ca, broker: (c-1)/unitSize*brokersPerUnit + s.Between(1, brokersPerUnit)}
	out.taxStatus = weighted(&s, 20, 50, 30)
	out.balance = s.IntN(1_000_000_000)
	if s.IntN(100) >= 80 {
		out.balance = -out.balance
	}
	out.guests = weighted(&s, 60, 38, 2)
	for i := range out.guest {
		// Any other customers, two different ones.
		out.guest[i] = (c-1+s.Between(1, w.customers/2-1)+int64(i)*(w.customers/2))%w.customers + 1
	}
	out.securities = s.Between(2, mostSecurities)
	out.from, out.step = w.walk(&s)
	return out
}

// weighted draws 0, 1 or 2 with the given chances in percent, which add up to
// 100.
func weighted(s *rng.Stream, a, b, _ int64) int64 {
	switch x := s.IntN(100); {
	case x < a:
		return 0
	case x < a+b:
		return 1
	default:
		return 2
	}
}

// walk draws a walk over all securities that comes to each once.
func (w *world) walk(s *rng.Stream) (from, step int64) {
	n := w.securities()
	from, step = s.IntN(n), s.Between(1, n-1)
	for gcd(step, n) != 1 {
		step = s.Between(1, n-1)
	}
	return from, step
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// security is number n, from 0, of those that a trades.
func (w *world) security(a *account, n int64) int64 { return (a.from + n*a.step) % w.securities() }

// companyOf is the company, from 0, of a security, from 0; the issue counts
// from 0, which is common stock.
func companyOf(security int64) (company, issue int64) {
	unit, n := security/securitiesUnit, security%securitiesUnit
	return unit*companiesUnit + n%companiesUnit, n / companiesUnit
}

// exchangeOf is where a security is traded.
func exchangeOf(security int64) int64 { return security % exchanges }

// issueName is S_ISSUE.
func issueName(issue int64) string { return [2]string{"COMMON", "PREF_A"}[issue] }

// appendSymbol appends the symbol of a security: letters for its company, and
// a mark for all but common stock.
func appendSymbol(b []byte, security int64) []byte {
	company, issue := companyOf(security)
	b = appendLetters(b, company, 4)
	if issue > 0 {
		b = append(b, "-A"...)
	}
	return b
}

// appendLetters appends n in base 26 as at least width letters.
func appendLetters(b []byte, n int64, width int) []byte {
	var buf [16]byte
	i := len(buf)
	for ; n > 0 || width > 0; width-- {
		i--
		buf[i] = 'A' + byte(n%26)
		n /= 26
	}
	return append(b, buf[i:]...)
}

// appendCompany appends the name of a company, from 0.
func (w *world) appendCompany(b []byte, company int64) []byte {
	b = append(append(b, w.words.firm[company%int64(len(w.words.firm))]...), ' ')
	b = append(append(b, w.words.trade[company/7%int64(len(w.words.trade))]...), ' ')
	return strconv.AppendInt(b, company+1, 10)
}

// industryOf is the industry, from 0, of a company, from 0, and sectorOf the
// sector of an industry.
func industryOf(company int64) int64 { return company % industries }
func sectorOf(industry int64) int64  { return industry % sectors }

// competitor is number n, from 1, of a company's competitors: of the same
// industry.
func (w *world) competitor(company, n int64) int64 {
	industry := industryOf(company)
	count := (w.companies() - industry + industries - 1) / industries
	return (company/industries+n)%count*industries + industry
}

// appendBroker appends the name of a broker, from 1: unique.
func (w *world) appendBroker(b []byte, broker int64) []byte {
	s := rng.At(w.seed, rng.Name("broker"), uint64(broker))
	b = append(append(b, pick(&s, w.words.first)...), ' ')
	b = append(append(b, pick(&s, w.words.last)...), ' ')
	return strconv.AppendInt(b, broker, 10)
}

// appendFirst and appendLast append the names of a customer.
func (w *world) appendFirst(b []byte, c int64) []byte {
	s := rng.At(w.seed, rng.Name("first name"), uint64(c))
	return append(b, pick(&s, w.words.first)...)
}

func (w *world) appendLast(b []byte, c int64) []byte {
	s := rng.At(w.seed, rng.Name("last name"), uint64(c))
	return append(b, pick(&s, w.words.last)...)
}

// appendTaxID appends C_TAX_ID, unique: three digits, two letters, six digits.
func appendTaxID(b []byte, c int64) []byte {
	const prime = 999_999_937 // more than there are customers: the numbers differ
	n := c * 381_654_729 % prime
	b = appendDigits(b, n/1_000_000, 3)
	b = appendLetters(b, c%676, 2)
	return appendDigits(b, n%1_000_000, 6)
}

// appendDigits appends n with so many digits.
func appendDigits(b []byte, n int64, digits int) []byte {
	at := len(b) + digits
	for range digits {
		b = append(b, '0')
	}
	for i := at - 1; n > 0 && i >= at-digits; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
	return b
}

// appendTax appends TX_ID of a tax, from 0.
func appendTax(b []byte, tax int64) []byte {
	if tax < countryTaxes {
		return appendDigits(append(b, 'C'), tax+1, 2)
	}
	return appendDigits(append(b, 'D'), tax-countryTaxes+1, 3)
}

// taxRate is what a customer pays of a profit, in hundred-thousandths.
func (w *world) taxRate(c *customer) int64 { return w.rates[c.tax[0]] + w.rates[c.tax[1]] }

// chargeFor is CH_CHRG in cents.
func chargeFor(kind int, tier int64) int64 { return 2_00 + 50*int64(kind) - 40*(tier-1) }

// bandEnds are the largest quantities of the bands.
func bandEnds() [bands]int64 { return [bands]int64{150, 300, 600, 1_000_000} }

// rateFor is CR_RATE in hundredths of a percent: better customers, larger
// quantities and market orders pay less.
func rateFor(kind int, tier, exchange, quantity int64) int64 {
	band := int64(0)
	for bandEnds()[band] < quantity {
		band++
	}
	return 25 + 5*int64(kind) + 8*(tiers-tier) + 2*exchange + 6*(bands-1-band)
}

// commission is what a broker earns by a trade, in cents, rounded half up:
// quantity · price · rate / 100.
func commission(quantity, price, rate int64) int64 { return (quantity*price*rate + 5_000) / 10_000 }

// profitTax is the tax on a profit, in cents, rounded half up; the rate is in
// hundred-thousandths.
func profitTax(profit, rate int64) int64 { return (profit*rate + 50_000) / 100_000 }

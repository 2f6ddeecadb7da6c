//! The meter: every try of every model of a run passes it, before it is sent and after. It keeps
//! the budget, and knows what each commit's work took.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::ledger::{Ledger, Place};
use super::{
    BoxFuture, Model, ModelError, OnText, Position, Request, Turn, budget, dialect, price,
};
use crate::config::{Budget, Price};
use crate::event::Usage;
use crate::spent::Spent;
use crate::stage::{Role, Stage};

/// Whoever is told that a try failed, a parameter is left out, or a budget runs low: one line for
/// a person.
pub type Notice = Rc<dyn Fn(&str)>;

/// See the module.
#[derive(Default)]
pub struct Meter {
    budget: RefCell<Budget>,
    notice: Option<Notice>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    ledger: Ledger,
    /// What was used before this run.
    before: Spent,
    /// The commit the session stands on.
    on: String,
    /// Since the last [`Meter::take`].
    fresh: Vec<(String, Spent)>,
    /// When the clock was looked at last, while work goes on.
    clock: Option<Instant>,
    /// Milliseconds of work that no request has been charged with yet.
    millis: u64,
    /// Models whose requests cost nobody knows how much.
    costless: BTreeSet<String>,
}

/// What one try came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Bill {
    /// Who answered, as the server says.
    pub(super) model: String,
    /// What the server counted, or a guess; none when there was nothing to pay for.
    pub(super) usage: Option<Usage>,
    /// It is a guess.
    pub(super) guessed: bool,
    /// It was answered, and nobody says what it used.
    pub(super) uncounted: bool,
    /// Dollars, where the server says them.
    pub(super) usd: Option<f64>,
    /// Without a price it costs nothing.
    pub(super) free: bool,
}

/// The clock runs as long as this lives.
pub struct Working<'a>(&'a Meter);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.borrow_mut();
        state.tick();
        state.clock = None;
    }
}

impl Meter {
    /// A meter for this budget. Until [`Meter::open`] nothing is written down.
    pub fn new(budget: Budget, notice: Option<Notice>) -> Self {
        Self { budget: budget.into(), notice, state: RefCell::default() }
    }

    /// Goes on with the ledger of a session that stands on the commit `on`, and of which history
    /// tells that `recorded` was used. What was asked before there was a session is its own.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn open(&self, ledger: &Path, recorded: Spent, on: &str) -> anyhow::Result<()> {
        let mut state = self.state.borrow_mut();
        let mut opened = Ledger::read(ledger)?;
        opened.raise(recorded);
        state.before = opened.total();
        // The ledger tells of it.
        state.fresh.clear();
        let earlier = std::mem::replace(&mut state.ledger, opened);
        state.ledger.take_over(earlier, on)
    }

    /// Work on top of the commit `on` begins: the clock runs until the answer is dropped.
    pub fn work(&self, on: &str) -> Working<'_> {
        let mut state = self.state.borrow_mut();
        on.clone_into(&mut state.on);
        state.clock = Some(Instant::now());
        Working(self)
    }

    /// Everything the session has used, as the ledger has it.
    pub fn used(&self) -> Spent {
        self.state.borrow().ledger.total()
    }

    /// What of it this run has used.
    pub fn in_this_run(&self) -> Spent {
        let state = self.state.borrow();
        state.ledger.total().since(state.before)
    }

    /// The number of a turn that follows all that were taken for a draft: that of a question about it, which
    /// is no part of the conversation that wrote it.
    pub fn next_turn(&self, stage: Stage, role: Role, iteration: u32) -> u32 {
        let of_draft = |place: &&Place| {
            (place.stage, place.role, place.iteration) == (Some(stage), role, iteration)
        };
        let state = self.state.borrow();
        let places = state.ledger.answered().iter().map(|answered| &answered.place);
        places.filter(of_draft).map(|place| place.turn).max().unwrap_or(0).saturating_add(1)
    }

    /// Notes what a model costs that is asked from now on, where the user has said nothing about it.
    pub fn costs(&self, model: &str, price: Price) {
        self.budget.borrow_mut().prices.entry(model.to_owned()).or_insert(price);
    }

    /// What was used since the last call, by model.
    pub fn take(&self) -> Vec<(String, Spent)> {
        std::mem::take(&mut self.state.borrow_mut().fresh)
    }

    /// What the requests took whose place `wanted` accepts, by model; those that were asked again
    /// after a kill count once.
    pub fn of(&self, wanted: impl Fn(&Place) -> bool) -> Vec<(String, Spent)> {
        let state = self.state.borrow();
        let fitting = state.ledger.answered().iter().filter(|answered| wanted(&answered.place));
        fitting.map(|answered| (answered.model.clone(), answered.spent)).collect()
    }

    /// Lets a try be sent, or says which budget forbids it.
    pub(super) fn admit(
        &self,
        at: &Position,
        attempt: u32,
        model: &str,
        guess: Usage,
    ) -> Result<(), ModelError> {
        let mut state = self.state.borrow_mut();
        state.tick();
        let price = self.budget.borrow().prices.get(model).copied();
        // Four characters a token is a guess; what the server counted makes it knowledge.
        let input = state.ledger.share().map_or(0, |share| (guess.input as f64 * share) as u64);
        let cheapest = price.map_or(0.0, |price| price.input.min(price.cached));
        let next = Spent {
            usage: Usage { input, ..Usage::default() },
            micros: (input as f64 * cheapest) as u64,
            requests: 1,
            ..Spent::default()
        };
        let costless = state.costless.contains(model);
        let unpriced =
            costless.then(|| budget::unpriced_error(&self.budget.borrow(), model)).flatten();
        if let Some(refusal) =
            unpriced.or_else(|| budget::refusal(&self.budget.borrow(), &state.used(), &next))
        {
            // Only for whoever asks later what comes next.
            if let Err(error) = state.ledger.refuse(model, next) {
                tracing::warn!("a refused request cannot be written down: {error:#}");
            }
            return Err(refusal);
        }
        let bill = Bill { usage: Some(guess), guessed: true, ..Bill::default() };
        let guess = self.charge(model, &bill);
        let place = Place::new(&state.on, at, attempt);
        state.ledger.sent(place, model, guess).map_err(|error| ModelError::Budget {
            message: format!("what is used cannot be written down: {error:#}"),
            hint: "make room on the disk, or see who owns that folder".to_owned(),
        })
    }

    /// How long the session may still work, where that is limited.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let limit = Duration::from_secs(self.budget.borrow().wall_s);
        let mut state = self.state.borrow_mut();
        state.tick();
        let runs = !limit.is_zero() && state.clock.is_some();
        // A little more, so that it is used up when it is over.
        let rest = || limit.saturating_sub(Duration::from_millis(state.used().millis));
        runs.then(|| rest() + Duration::from_millis(1))
    }

    /// Waits, but not longer than the session may work.
    ///
    /// # Errors
    /// It may not work so long.
    pub(super) async fn pause(&self, wait: Duration) -> Result<(), ModelError> {
        let left = self.time_left().unwrap_or(wait);
        tokio::time::sleep(wait.min(left)).await;
        match self.refusal() {
            Some(refusal) if left < wait => Err(refusal),
            _ => Ok(()),
        }
    }

    /// Why nothing more may be asked, if the budget is used up.
    pub(super) fn refusal(&self) -> Option<ModelError> {
        let mut state = self.state.borrow_mut();
        state.tick();
        budget::refusal(&self.budget.borrow(), &state.used(), &Spent::default())
    }

    /// Counts a try that has come to its end. `model` is the configured name.
    pub(super) fn count(&self, model: &str, bill: &Bill) {
        let mut spent = self.charge(model, bill);
        let mut state = self.state.borrow_mut();
        state.tick();
        // Without the guess at this very request.
        let before = state.ledger.settled();
        spent.millis = std::mem::take(&mut state.millis);
        if spent.unpriced > 0 {
            state.costless.insert(model.to_owned());
        }
        let answered = if bill.model.is_empty() { model } else { &bill.model };
        state.fresh.push((answered.to_owned(), spent));
        if let Err(error) = state.ledger.got(answered, spent) {
            // The next request is not sent before it can be written down.
            tracing::error!("what is used cannot be written down: {error:#}");
        }
        let after = state.used();
        drop(state);
        for line in budget::warnings(&self.budget.borrow(), &before, &after) {
            tracing::warn!("{line}");
            if let Some(notice) = &self.notice {
                notice(&line);
            }
        }
    }

    fn charge(&self, model: &str, bill: &Bill) -> Spent {
        let mut spent = Spent { requests: 1, ..Spent::default() };
        let Some(usage) = bill.usage else {
            spent.uncounted = u64::from(bill.uncounted);
            spent.micros = bill.usd.map_or(0, budget::micros);
            spent.unpriced = u64::from(bill.uncounted && bill.usd.is_none() && !bill.free);
            return spent;
        };
        spent.usage = usage;
        spent.guessed = u64::from(bill.guessed);
        let budget = self.budget.borrow();
        let prices = &budget.prices;
        let priced = || {
            price::cost(usage, model, prices).or_else(|| price::cost(usage, &bill.model, prices))
        };
        match bill.usd.or_else(priced) {
            Some(usd) => spent.micros = budget::micros(usd),
            None => spent.unpriced = u64::from(!bill.free),
        }
        spent
    }
}

impl State {
    fn used(&self) -> Spent {
        let mut used = self.ledger.total();
        // What came before was read from trailers, which anybody may have written.
        used.millis = used.millis.saturating_add(self.millis);
        used
    }

    fn tick(&mut self) {
        if let Some(clock) = &mut self.clock {
            let now = Instant::now();
            let passed = now.duration_since(*clock).as_millis();
            // What is left of a millisecond is counted next time.
            if passed > 0 {
                *clock = now;
                let passed = u64::try_from(passed).unwrap_or(u64::MAX);
                self.millis = self.millis.saturating_add(passed);
            }
        }
    }
}

/// A model that has no tries of its own, counted by the turn: a recording.
pub struct Metered<M> {
    inner: M,
    meter: Rc<Meter>,
}

impl<M: Model> Metered<M> {
    /// Counts what `inner` says; without a configured price it costs nothing.
    pub fn new(inner: M, meter: Rc<Meter>) -> Self {
        Self { inner, meter }
    }
}

impl<M: Model> Model for Metered<M> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn turn<'a>(&'a self, request: &'a Request, on_text: OnText<'a>) -> Turn<'a> {
        Box::pin(async move {
            let guess = dialect::estimate(request, 0);
            self.meter.admit(&request.position, 1, self.name(), guess)?;
            let answer = self.inner.turn(request, on_text).await;
            let usage = answer.as_ref().ok().map(|reply| reply.usage);
            let bill = Bill { usage, free: true, ..Bill::default() };
            self.meter.count(self.name(), &bill);
            answer
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        self.inner.probe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testserver::request;

    fn usage(input: u64) -> Usage {
        Usage { input, output: 10, cached: 0 }
    }

    fn bill(input: u64) -> Bill {
        Bill { usage: Some(usage(input)), ..Bill::default() }
    }

    #[test]
    fn a_request_that_is_known_not_to_fit_is_not_sent() {
        let budget = Budget { tokens: 200, ..Budget::default() };
        let meter = Meter::new(budget, None);
        let at = request().position;
        // The guess alone refuses nothing: a server may count much less.
        meter.admit(&at, 1, "m", usage(1000)).unwrap();
        meter.count("m", &bill(100));
        let refused = meter.admit(&at, 1, "m", usage(1000)).unwrap_err();
        assert!(matches!(refused, ModelError::Budget { .. }), "{refused}");
        meter.admit(&at, 1, "m", usage(500)).unwrap();
        assert_eq!(meter.take().len(), 1);
        assert!(meter.take().is_empty());
    }

    #[test]
    fn the_servers_price_counts_before_the_configured_one() {
        let price = Price { input: 2.0, output: 8.0, cached: 0.5 };
        let prices = [("m".to_owned(), price)].into();
        let meter = Meter::new(Budget { usd: 1.0, prices, ..Budget::default() }, None);
        let at = request().position;
        meter.admit(&at, 1, "m", usage(1)).unwrap();
        meter.count("m", &bill(1000));
        assert_eq!(meter.used().micros, 2080);
        meter.admit(&at, 1, "m", usage(1)).unwrap();
        meter.count("m", &Bill { usd: Some(0.5), ..bill(1000) });
        assert_eq!(meter.used().micros, 502_080);
        // A failure nobody charged for is a request all the same.
        meter.admit(&at, 1, "m", usage(1)).unwrap();
        meter.count("m", &Bill::default());
        assert_eq!((meter.used().micros, meter.used().requests), (502_080, 3));
    }

    #[test]
    fn four_fifths_are_warned_of_when_they_are_passed() {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let lines = Rc::clone(&heard);
        let notice: Notice = Rc::new(move |line| lines.borrow_mut().push(line.to_owned()));
        let meter = Meter::new(Budget { tokens: 1000, ..Budget::default() }, Some(notice));
        let at = request().position;
        for n in 1..=8 {
            // The guess is far above what the server counts.
            meter.admit(&at, 1, "m", usage(5000)).unwrap();
            meter.count("m", &bill(90));
            assert_eq!(heard.borrow().len(), usize::from(n == 8), "{n}");
        }
    }

    #[test]
    fn money_that_cannot_be_counted_is_not_spent() {
        let meter = Meter::new(Budget { usd: 1.0, ..Budget::default() }, None);
        let at = request().position;
        meter.admit(&at, 1, "m", usage(1)).unwrap();
        meter.count("m", &bill(1000));
        let refused = meter.admit(&at, 1, "m", usage(1)).unwrap_err().to_string();
        assert!(refused.contains("the price of m is not known"), "{refused}");
        // What is played back costs nothing.
        meter.admit(&at, 1, "r", usage(1)).unwrap();
        meter.count("r", &Bill { free: true, ..bill(1000) });
        meter.admit(&at, 1, "r", usage(1)).unwrap();
    }
}

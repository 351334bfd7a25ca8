//! Parts of the program that are fetched when they are first needed.
//!
//! A part is named where it begins: [`part!`] marks the function that gives its table, a struct of functions. What is
//! reached through that table alone is cut out of the module when the page is shipped; while it is worked on the page
//! is in one piece, and a part is there at once, as in the worker that reads. What several parts share is fetched with the
//! first of them.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::thread::LocalKey;

use futures_util::future::{Either, select};

use super::{frame, turns};

/// A part that takes longer does not come.
const LIMIT_MS: u32 = 20_000;
/// How long it is waited before each further try: a connection that was cut is mostly back by then.
const WAITS_MS: [u32; 4] = [200, 600, 1_500, 3_000];

/// Why a part is not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The server does not give it: it is away, or has another version of the page by now.
    Refused,
    /// Nothing came in a time in which it should have.
    NoAnswer,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Missing::Refused => "the server of this page is away, or has a newer version of it",
            Missing::NoAnswer => "the server of this page does not answer",
        })
    }
}

impl From<wasm_split_helpers::SplitLoaderError> for Missing {
    fn from(_: wasm_split_helpers::SplitLoaderError) -> Missing {
        Missing::Refused
    }
}

/// A part's table, of any type: what is done with parts is made once, and not once for each of them.
pub(crate) type Table = &'static dyn Any;
/// What waits for a part.
type Waiting = Box<dyn FnOnce(Result<Table, Missing>)>;
/// Fetches a part, and asks it for its table.
type Fetch = fn() -> Pin<Box<dyn Future<Output = Result<Table, Missing>>>>;

/// A part; `T` is its table.
pub(crate) struct Part<T: 'static> {
    any: AnyPart,
    of: PhantomData<fn() -> T>,
}

/// A part of any table.
struct AnyPart {
    words: &'static str,
    state: &'static LocalKey<State>,
    fetch: Fetch,
}

/// What is known of a part.
pub(crate) struct State {
    here: Cell<Option<Table>>,
    waiting: RefCell<Vec<Waiting>>,
}

impl State {
    /// Nobody has asked for it yet.
    pub(crate) const fn new() -> State {
        State {
            here: Cell::new(None),
            waiting: RefCell::new(Vec::new()),
        }
    }
}

impl<T: Copy> Part<T> {
    /// For [`part!`].
    pub(crate) const fn new(
        words: &'static str,
        state: &'static LocalKey<State>,
        fetch: Fetch,
    ) -> Part<T> {
        Part {
            any: AnyPart {
                words,
                state,
                fetch,
            },
            of: PhantomData,
        }
    }

    /// The table, where the part is here.
    pub(crate) fn get(&self) -> Option<T> {
        let table = self.any.state.with(|state| state.here.get())?;
        table.downcast_ref().copied()
    }

    /// Fetches it where it is not here; nothing waits for it.
    pub(crate) fn fetch(&'static self) {
        self.any.when_here(Box::new(|_| {}));
    }

    /// The table, as soon as the part is here. Each time it does not come `lacks` is told.
    pub(crate) async fn needed(&'static self, lacks: impl Fn(Lack)) -> T {
        loop {
            self.any.needed(Box::new(&lacks)).await;
            if let Some(table) = self.get() {
                return table;
            }
        }
    }

    /// The table, or that it does not come now and why; it is asked for again by the next who needs it.
    pub(crate) async fn once(&'static self) -> Result<T, String> {
        let come = self.any.once().await;
        come.map_err(|why| lacking(self.any.words, why))?;
        self.get()
            .ok_or_else(|| lacking(self.any.words, Missing::Refused))
    }
}

impl AnyPart {
    /// Hands the table on as soon as the part is here: at once, where it is.
    fn when_here(&'static self, told: Waiting) {
        if let Some(table) = self.state.with(|state| state.here.get()) {
            return told(Ok(table));
        }
        let n_waiting = self.state.with(|state| {
            let mut waiting = state.waiting.borrow_mut();
            waiting.push(told);
            waiting.len()
        });
        if n_waiting == 1 {
            turns::comes();
            wasm_bindgen_futures::spawn_local(self.fetch());
        }
    }

    async fn fetch(&'static self) {
        let mut fetched = self.try_once().await;
        for wait_ms in WAITS_MS {
            if fetched.is_ok() {
                break;
            }
            frame::sleep(wait_ms).await;
            fetched = self.try_once().await;
        }
        let waiting = self.state.with(|state| {
            state.here.set(fetched.ok());
            state.waiting.take()
        });
        for told in waiting {
            told(fetched);
        }
        turns::came();
    }

    async fn try_once(&self) -> Result<Table, Missing> {
        match select((self.fetch)(), frame::sleep(LIMIT_MS)).await {
            Either::Left((fetched, _)) => fetched,
            Either::Right(_) => Err(Missing::NoAnswer),
        }
    }

    /// Waits until the part is here.
    async fn needed(&'static self, lacks: Box<dyn Fn(Lack) + '_>) {
        while let Err(why) = self.once().await {
            let asked = Told::default();
            lacks(Lack {
                words: self.words,
                why,
                asked: Rc::downgrade(&asked.0),
            });
            asked.await;
        }
    }

    async fn once(&'static self) -> Result<(), Missing> {
        let told = Told::default();
        let tell = told.clone();
        self.when_here(Box::new(move |fetched| tell.tell(fetched.map(|_| ()))));
        told.await
    }
}

/// A part that did not come.
#[derive(Clone)]
pub(crate) struct Lack {
    words: &'static str,
    pub(crate) why: Missing,
    /// Of who waits for it.
    asked: Weak<ToldCells<()>>,
}

impl Lack {
    /// Tries again, where somebody still waits for it.
    pub(crate) fn again(&self) {
        if let Some(asked) = self.asked.upgrade() {
            Told(asked).tell(());
        }
    }

    /// Whether somebody still waits for it.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.asked.strong_count() > 0
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&lacking(self.words, self.why))
    }
}

fn lacking(words: &str, why: Missing) -> String {
    format!("the part of this page that {words} was not loaded: {why}")
}

/// What was told, and who waits for it.
type ToldCells<V> = (Cell<Option<V>>, Cell<Option<Waker>>);

/// Something that is told once.
pub(crate) struct Told<V>(Rc<ToldCells<V>>);

impl<V> Clone for Told<V> {
    fn clone(&self) -> Told<V> {
        Told(self.0.clone())
    }
}

impl<V> Default for Told<V> {
    fn default() -> Told<V> {
        Told(Rc::new((Cell::new(None), Cell::new(None))))
    }
}

impl<V> Told<V> {
    pub(crate) fn tell(&self, value: V) {
        self.0.0.set(Some(value));
        if let Some(waker) = self.0.1.take() {
            waker.wake();
        }
    }
}

impl<V> Future for Told<V> {
    type Output = V;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<V> {
        match self.0.0.take() {
            Some(value) => Poll::Ready(value),
            None => {
                self.0.1.set(Some(context.waker().clone()));
                Poll::Pending
            }
        }
    }
}

/// Declares a part: a static, the type of its table, the function that makes the table, the part's name and what it is
/// for.
macro_rules! part {
    ($(#[$doc:meta])* $vis:vis static $part:ident: $table:ty = $make:path, in $name:ident, $words:literal;) => {
        $(#[$doc])*
        $vis static $part: $crate::platform::part::Part<$table> = {
            thread_local! {
                static STATE: $crate::platform::part::State =
                    const { $crate::platform::part::State::new() };
            }
            #[cfg(any(debug_assertions, not(feature = "page")))]
            async fn $name()
            -> Result<$crate::platform::part::Table, $crate::platform::part::Missing> {
                let table: $table = $make();
                Ok(Box::leak(Box::new(table)))
            }
            #[cfg(all(not(debug_assertions), feature = "page"))]
            #[wasm_split_helpers::wasm_split($name, fallible)]
            fn $name() -> Result<$crate::platform::part::Table, $crate::platform::part::Missing> {
                let table: $table = $make();
                Ok(Box::leak(Box::new(table)))
            }
            $crate::platform::part::Part::new($words, &STATE, || Box::pin($name()))
        };
    };
}

pub(crate) use part;

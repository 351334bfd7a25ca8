//! Colours of code: one worker for all feeds of the page, begun when the first code is shown, ended when it takes too
//! long over a text. Until an answer comes, and where none does, code is plain.
//!
//! What is asked first, and what is kept, is for `chat_feed::syntax`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use chat_feed::syntax::{self, Job, Lines, Queue, TextKey};

use crate::platform::code;
use crate::platform::dom::Element;
use crate::platform::frame;
use crate::platform::highlighter::Highlighter;

/// One text may take this long; then its language stays plain.
const TEXT_LIMIT_MS: u32 = 4_000;

/// The worker may take this long to be fetched and to read its grammars.
const START_LIMIT_MS: u32 = 15_000;

/// Where so many texts wait, those that nobody wants any longer are forgotten: beyond what can wait in the queue.
const MOST_WAITING: usize = 1_000;

/// Told when an answer has come: ask again.
pub(crate) type Told = dyn Fn();

#[derive(Default)]
struct Colours {
    queue: RefCell<Queue>,
    worker: RefCell<Option<Highlighter>>,
    /// The worker has read its grammars.
    ready: Cell<bool>,
    /// What is shown passes by: nothing is begun.
    held: Cell<bool>,
    /// No worker can be had in this page.
    none: Cell<bool>,
    /// Of what the worker does now; an answer or a limit of an earlier one means nothing.
    turn: Cell<u32>,
    waiting: RefCell<BTreeMap<TextKey, Vec<Weak<Told>>>>,
}

thread_local! {
    static COLOURS: Rc<Colours> = Rc::default();
}

/// The spans of a text by line, where they are known; else they are asked for, and `told` is called once they are.
pub(crate) fn ask(
    language: &'static str,
    text: Rc<str>,
    on_screen: bool,
    told: &Rc<Told>,
) -> Option<Lines> {
    COLOURS.with(|colours| {
        if colours.none.get() {
            return Some(Lines::default());
        }
        let key = Queue::key(language, &text);
        let job = Job {
            key,
            language,
            text,
        };
        let known = colours.queue.borrow_mut().ask(job, on_screen);
        if known.is_none() {
            let mut waiting = colours.waiting.borrow_mut();
            // Texts that were passed by went from the queue unseen.
            if waiting.len() >= MOST_WAITING {
                waiting.retain(|_, told| told.iter().any(|told| told.strong_count() > 0));
            }
            let of_key = waiting.entry(key).or_default();
            of_key.retain(|told| told.strong_count() > 0);
            let told = Rc::downgrade(told);
            if !of_key.iter().any(|other| other.ptr_eq(&told)) {
                of_key.push(told);
            }
            drop(waiting);
            colours.go_on_soon();
        }
        known
    })
}

/// While what is shown passes by faster than anyone reads, no text is begun; what is still there afterwards is.
pub(crate) fn hold(held: bool) {
    COLOURS.with(|colours| {
        if colours.held.replace(held) && !held && !are_all_known() {
            colours.go_on_soon();
        }
    });
}

/// Whether no text waits for its colours.
pub(crate) fn are_all_known() -> bool {
    COLOURS.with(|colours| {
        let queue = colours.queue.borrow();
        !queue.has_waiting() && queue.running().is_none()
    })
}

/// When all code that is mounted has its colours, or stays plain.
pub(crate) async fn all_drawn() {
    // What is asked for goes to the worker a turn later, and what came is drawn a turn later.
    let mut calm = 0;
    while calm < 3 {
        frame::yield_now().await;
        calm += 1;
        if !are_all_known() {
            calm = 0;
            frame::sleep(5).await;
        }
    }
}

impl Colours {
    /// After whoever asks has asked for all it wants, so that what is on the screen comes first.
    fn go_on_soon(self: &Rc<Self>) {
        let me = self.clone();
        leptos::task::spawn_local(async move {
            frame::yield_now().await;
            me.go_on();
        });
    }

    fn go_on(self: &Rc<Self>) {
        if self.worker.borrow().is_none() {
            return self.start();
        }
        if !self.ready.get() {
            return;
        }
        if self.held.get() {
            return;
        }
        let job = loop {
            let Some(job) = self.queue.borrow_mut().begin() else {
                return;
            };
            let wanted = self
                .waiting
                .borrow()
                .get(&job.key)
                .is_some_and(|waiting| waiting.iter().any(|told| told.strong_count() > 0));
            if wanted {
                break job;
            }
            // Nobody looks at it any more.
            self.queue.borrow_mut().pass();
            self.waiting.borrow_mut().remove(&job.key);
        };
        let turn = self.next_turn();
        if let Some(worker) = &*self.worker.borrow() {
            worker.ask(turn, job.language, &job.text);
        }
        self.limit(turn, TEXT_LIMIT_MS);
    }

    fn start(self: &Rc<Self>) {
        if self.none.get() {
            return;
        }
        let (for_answer, for_end) = (Rc::downgrade(self), Rc::downgrade(self));
        self.ready.set(false);
        let worker = Highlighter::start(
            move |id, spans| {
                if let Some(me) = for_answer.upgrade() {
                    me.on_answer(id, spans);
                }
            },
            move || {
                if let Some(me) = for_end.upgrade() {
                    me.on_end();
                }
            },
        );
        match worker {
            Some(worker) => {
                *self.worker.borrow_mut() = Some(worker);
                let turn = self.next_turn();
                self.limit(turn, START_LIMIT_MS);
            }
            None => self.give_up(),
        }
    }

    fn on_answer(self: &Rc<Self>, id: u32, spans: Option<Vec<u32>>) {
        if id == 0 {
            self.ready.set(true);
            // The limit of the start is over.
            self.next_turn();
            return self.go_on();
        }
        if id != self.turn.get() {
            return;
        }
        self.next_turn();
        let text = self.queue.borrow().running().map(|job| job.text.clone());
        let lines = text.and_then(|text| syntax::by_line(&text, &spans?));
        let key = self.queue.borrow_mut().answer(lines);
        self.tell(key);
        self.go_on();
    }

    /// The worker broke: without a text at hand it never will do better.
    fn on_end(self: &Rc<Self>) {
        let me = self.clone();
        // Not within the worker's own call.
        leptos::task::spawn_local(async move {
            me.worker.borrow_mut().take();
            me.next_turn();
            if me.ready.replace(false) {
                let key = me.queue.borrow_mut().answer(None);
                me.tell(key);
                me.go_on();
            } else {
                me.give_up();
            }
        });
    }

    fn give_up(&self) {
        self.none.set(true);
        let keys = self.queue.borrow_mut().give_up();
        self.tell(keys);
    }

    fn next_turn(&self) -> u32 {
        // 0 is the worker's own.
        let turn = self.turn.get().checked_add(1).unwrap_or(1);
        self.turn.set(turn);
        turn
    }

    /// Ends the worker if it is still at this turn by then.
    fn limit(self: &Rc<Self>, turn: u32, limit_ms: u32) {
        let me = self.clone();
        leptos::task::spawn_local(async move {
            frame::sleep(limit_ms).await;
            if me.turn.get() != turn {
                return;
            }
            me.worker.borrow_mut().take();
            me.next_turn();
            if me.ready.replace(false) {
                let keys = me.queue.borrow_mut().too_slow();
                me.tell(keys);
                if me.queue.borrow().has_waiting() {
                    me.go_on();
                }
            } else {
                me.give_up();
            }
        });
    }

    fn tell(&self, keys: impl IntoIterator<Item = TextKey>) {
        for key in keys {
            let waiting = self.waiting.borrow_mut().remove(&key);
            for told in waiting.into_iter().flatten() {
                if let Some(told) = told.upgrade() {
                    told();
                }
            }
        }
    }
}

/// Colours the code blocks in an element that name their language, once their colours are known; dropped with its row.
pub(crate) struct CodeColours {
    place: Element,
    told: RefCell<Option<Rc<Told>>>,
}

impl CodeColours {
    /// Colours of the code in an element; `None` where there is no such code.
    pub(crate) fn of(place: &Element) -> Option<Rc<CodeColours>> {
        if code::blocks(place).is_empty() {
            return None;
        }
        let colours = Rc::new(CodeColours {
            place: place.clone(),
            told: RefCell::new(None),
        });
        let me = Rc::downgrade(&colours);
        *colours.told.borrow_mut() = Some(Rc::new(move || {
            if let Some(me) = me.upgrade() {
                me.paint();
            }
        }));
        colours.paint();
        Some(colours)
    }

    fn paint(&self) {
        let Some(told) = self.told.borrow().clone() else {
            return;
        };
        for (block, language) in code::blocks(&self.place) {
            let Some(language) = syntax::language_named(&language) else {
                continue;
            };
            let text: Rc<str> = code::text_of(&block).into();
            if let Some(lines) = ask(language, text.clone(), true, &told) {
                code::colour(&block, &text, &syntax::flat(&text, &lines), &class_names());
            }
        }
    }
}

/// The classes of the style sheet by the numbers of `syntax::flat`.
fn class_names() -> Vec<String> {
    let names = syntax::CLASSES.map(|class| format!("syntax-{}", class.as_str()));
    names.into()
}

//! A session handed to others: read again from where it came, looked through, shown to the reader what of it is to be
//! masked, and written into a file. All of it happens here; nothing is sent anywhere.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::rc::{Rc, Weak};

use chat_event::ChatEvent;
use chat_feed::export::{
    Form, PAGE_END, PAGE_PIECE, PAGE_PIECE_BYTES, PAGE_PIECE_END, Writer, file_name,
};
use chat_feed::mask::{Masker, Plan, Scan};
use chat_feed::projections::TextSink;

use super::FeedElement;
use super::opening::opened_by;
use crate::components::export::{Review, Step};
use crate::platform::frame::Slice;
use crate::platform::part::part;
use crate::platform::save::{self, Pieces};
use crate::platform::stream::Blob;
use crate::transport::again::Origin;
use crate::transport::{Sink, Update};

part! {
    /// What looks through a session and writes it.
    static EXPORT: Export = table, in export, "writes sessions into files";
}

type Soon<T> = Pin<Box<dyn Future<Output = Result<T, String>>>>;

/// Ends when the reader was asked, or there is nothing to ask.
type Reviewed = Pin<Box<dyn Future<Output = ()>>>;

/// What the part can do.
#[derive(Clone, Copy)]
struct Export {
    /// Looks through a session.
    plan: fn(Session) -> Soon<Planned>,
    /// Writes the session as it was when it was looked through.
    write: fn(Session, Form, Option<Plan>, Seen) -> Soon<Blob>,
    /// Looks through the session, asks the reader, and writes what is wanted of it; given its title.
    review: fn(Weak<FeedElement>, Session, Form, Review, String) -> Reviewed,
}

/// A session to be read again.
#[derive(Clone)]
struct Session {
    origin: Origin,
    /// Hears of parts of the page that do not come.
    asker: Sink,
    /// Whether somebody still waits for it.
    is_wanted: Rc<dyn Fn() -> bool>,
    /// Hears how many events were read, now and then.
    told: Rc<dyn Fn(u64)>,
}

impl Session {
    /// To be called for each event with their number so far: whether somebody wants more of them.
    fn goes_on(&self, n_events: u64) -> bool {
        if n_events.is_multiple_of(TOLD_EVERY) {
            (self.told)(n_events);
        }
        (self.is_wanted)()
    }
}

/// The events that were seen of a session, to be known again: its log may begin anew while the reader looks at what was
/// found, and an address give another. What was found would say nothing of what is written then.
#[derive(Clone, Copy, PartialEq)]
struct Seen {
    n_events: u64,
    /// Of what tells one event from another.
    hash: u64,
}

/// Those that were seen so far.
#[derive(Default)]
struct Seeing {
    n_events: u64,
    hasher: DefaultHasher,
}

impl Seeing {
    fn push(&mut self, event: &ChatEvent) {
        self.n_events += 1;
        let told_by = (event.seq, &event.id, event.timestamp, event.recv);
        (told_by, &event.session_id).hash(&mut self.hasher);
    }

    fn seen(&self) -> Seen {
        Seen {
            n_events: self.n_events,
            hash: self.hasher.finish(),
        }
    }
}

/// What was found in it.
struct Planned {
    /// What there is to mask.
    plan: Plan,
    seen: Seen,
    /// Why only its beginning could be read, where there is more.
    cut_off: Option<String>,
}

fn table() -> Export {
    Export {
        plan: |session| Box::pin(async move { plan(&session).await }),
        write: |session, form, plan, seen| {
            Box::pin(async move { write(&session, form, plan, seen).await })
        },
        review: |me, session, form, review, title| {
            Box::pin(async move { ask_and_save(me, session, form, review, title).await })
        },
    }
}

/// Events from one word of how far it is to the next: some milliseconds' work.
const TOLD_EVERY: u64 = 1_024;

/// Text that is gathered before the browser is given it.
const PIECE_BYTES: usize = 256 * 1024;

impl FeedElement {
    /// Where the session that is shown came from.
    fn origin(&self) -> Option<Origin> {
        match self.origin.borrow().clone() {
            Some(Origin::Session(server, session)) => {
                let server = opened_by(&self.me, &server);
                return Some(Origin::Session(server, session));
            }
            Some(origin) => return Some(origin),
            None => {}
        }
        let pushed = self.pushed.borrow().is_some();
        pushed.then(|| {
            let log = self.pushed_bytes.borrow().to_blob("application/x-ndjson");
            Origin::Files(vec![("session.jsonl".to_owned(), log)])
        })
    }

    /// Looks through the session for what is to be masked, and asks the reader.
    pub(super) fn begin_export(&self, form: Form) {
        let Some(origin) = self.origin() else {
            return;
        };
        let review = self.view.context.export.begin(form);
        let title = self.title();
        let (me, sink) = (self.me.clone(), self.sink());
        let (asked, hears) = (review.clone(), review.clone());
        // As many as are shown: a session that grows, or is taken from its end, only guesses.
        let of = self.store.player(|player| player.clock().n_events());
        let session = Session {
            origin,
            asker: sink.clone(),
            is_wanted: Rc::new(move || asked.is_wanted()),
            told: Rc::new(move |n_events| {
                let percent = n_events.saturating_mul(100).checked_div(of.into());
                if let Some(percent) = percent.filter(|_| hears.is_wanted()) {
                    hears.set_done(percent);
                }
            }),
        };
        wasm_bindgen_futures::spawn_local(async move {
            let export = EXPORT.needed(|lack| sink(Update::Lacks(lack))).await;
            (export.review)(me, session, form, review, title).await;
        });
    }

    /// The session as a file, masked with all that is found.
    pub(super) fn exported(
        &self,
        form: Form,
        masked: bool,
    ) -> impl Future<Output = Result<Blob, String>> + use<> {
        let (origin, sink) = (self.origin(), self.sink());
        async move {
            let session = Session {
                origin: origin.ok_or("nothing is shown")?,
                asker: sink.clone(),
                is_wanted: Rc::new(|| true),
                told: Rc::new(|_| {}),
            };
            let export = EXPORT.needed(|lack| sink(Update::Lacks(lack))).await;
            let Planned { plan, seen, .. } = (export.plan)(session.clone()).await?;
            (export.write)(session, form, masked.then_some(plan), seen).await
        }
    }

    /// What the session is called, whatever moment is shown.
    fn title(&self) -> String {
        let session = self.store.whole(|feed, _| feed.session().clone());
        session.title.unwrap_or(session.session_id)
    }
}

/// What follows the choice of a form.
async fn ask_and_save(
    me: Weak<FeedElement>,
    session: Session,
    form: Form,
    review: Review,
    title: String,
) {
    let planned = plan(&session).await;
    if me.strong_count() == 0 || !review.is_wanted() {
        return;
    }
    match planned {
        Err(why) => review.set(Step::Failed(why)),
        Ok(Planned {
            plan,
            seen,
            cut_off,
        }) => {
            let told = review.clone();
            review.ask(plan, cut_off, move |plan| {
                if me.strong_count() > 0 {
                    let (session, title, told) = (session.clone(), title.clone(), told.clone());
                    write_and_save(session, form, plan, seen, title, told);
                }
            });
        }
    }
}

fn write_and_save(
    session: Session,
    form: Form,
    plan: Plan,
    seen: Seen,
    title: String,
    review: Review,
) {
    wasm_bindgen_futures::spawn_local(async move {
        // What is masked in the file stands in its name neither.
        let title = Masker::new(plan.clone()).text(&title);
        let written = write(&session, form, Some(plan), seen).await;
        // The reader may have left meanwhile.
        if !review.is_wanted() {
            return;
        }
        match written {
            Ok(file) => {
                save::save(&file, &file_name(&title, form));
                review.close();
            }
            Err(why) => review.set(Step::Failed(why)),
        }
    });
}

async fn plan(session: &Session) -> Result<Planned, String> {
    let mut planned = look(session, Scan::new(), u64::MAX).await?;
    if planned.seen.n_events == 0 {
        return Err("there is nothing in the session".to_owned());
    }
    if planned.plan.asks_again() {
        let scan = Scan::again(planned.plan);
        let again = look(session, scan, planned.seen.n_events).await?;
        known_again(session, planned.seen, again.seen)?;
        planned.plan = again.plan;
    }
    Ok(planned)
}

/// # Errors
///
/// When the session is another one than before. Who wants no more of it does not hear that.
fn known_again(session: &Session, before: Seen, now: Seen) -> Result<(), String> {
    if before == now || !(session.is_wanted)() {
        return Ok(());
    }
    Err("the session is another one since it was looked through, try again".to_owned())
}

async fn look(session: &Session, scan: Scan, most: u64) -> Result<Planned, String> {
    let looked = Rc::new(RefCell::new((scan, Seeing::default())));
    let looks = looked.clone();
    let reads = session.clone();
    let take = move |event: &ChatEvent| {
        let (scan, seeing) = &mut *looks.borrow_mut();
        scan.push(event);
        seeing.push(event);
        seeing.n_events < most && reads.goes_on(seeing.n_events)
    };
    let cut_off = session.origin.read(take, &session.asker).await?;
    let (scan, seeing) = looked.take();
    Ok(Planned {
        plan: scan.finish(),
        seen: seeing.seen(),
        cut_off,
    })
}

/// Writes a session as it was when it was looked through.
async fn write(
    session: &Session,
    form: Form,
    plan: Option<Plan>,
    seen: Seen,
) -> Result<Blob, String> {
    let sheet = Rc::new(RefCell::new((
        Writer::new(form, plan.map(Masker::new)),
        Sheet::default(),
        Seeing::default(),
    )));
    let written = sheet.clone();
    let reads = session.clone();
    let take = move |event: &ChatEvent| {
        let (writer, sheet, seeing) = &mut *written.borrow_mut();
        writer.push(event, sheet);
        seeing.push(event);
        seeing.n_events < seen.n_events && reads.goes_on(seeing.n_events)
    };
    session.origin.read(take, &session.asker).await?;
    known_again(session, seen, sheet.borrow().2.seen())?;
    // Of a transcript that are the last 32 MiB of the session.
    let write_next = || {
        let (writer, sheet, _) = &mut *sheet.borrow_mut();
        writer.finish_next(sheet)
    };
    let mut slice = Slice::begin();
    while (session.is_wanted)() && write_next() {
        slice.give_way().await;
    }
    let pieces = {
        let (_, sheet, _) = &mut *sheet.borrow_mut();
        sheet.flush();
        std::mem::take(&mut sheet.pieces)
    };
    let content_type = match form {
        Form::Html => {
            let log = pieces.to_blob("application/x-ndjson");
            let around = save::Around {
                piece_bytes: PAGE_PIECE_BYTES,
                piece: [PAGE_PIECE, PAGE_PIECE_END],
                end: PAGE_END,
            };
            return save::make_page(&log, &around, &*session.is_wanted).await;
        }
        Form::Jsonl => "application/x-ndjson",
        Form::Json => "application/json",
        Form::Markdown => "text/markdown;charset=utf-8",
    };
    Ok(pieces.to_blob(content_type))
}

/// What is written, on its way to the browser.
#[derive(Default)]
struct Sheet {
    text: String,
    pieces: Pieces,
}

impl Sheet {
    fn flush(&mut self) {
        self.pieces.add(self.text.as_bytes());
        self.text.clear();
    }
}

impl TextSink for Sheet {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() >= PIECE_BYTES {
            self.flush();
        }
    }

    fn restart(&mut self) {
        // No form that is exported begins again.
    }
}

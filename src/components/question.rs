//! Questions that wait for the reader: radios or boxes for each, a text of one's own, and one button for all of them;
//! answered, one neutral line. What is secret is typed unseen and not shown again.

use std::collections::BTreeSet;

use chat_event::Json;
use chat_event::payload::{Question, QuestionResolved};
use chat_feed::answers::{NOT_SHOWN, told_answers};
use chat_feed::units;
use chat_feed::{Block, BlockId, QuestionBlock};
use leptos::ev;
use leptos::html::{dd, div, dl, dt, fieldset, input, label, legend, li, p, span, ul};
use leptos::prelude::*;

use super::answering::{Answer, Choice, Draft, Progress};
use super::ask::{answer_button, came_of_it, card_class, elsewhere, here, unanswered, waited};
use super::icon::{Icon, icon_with};
use super::line::{self, Line};
use super::{Ctx, elapsed, seen};

/// An answer that is shown in one line is cut to this many characters.
const SHOWN_CHARS: usize = 120;

/// Questions, asked together.
pub(crate) fn view(ctx: Ctx, block: &Block, ask: &QuestionBlock) -> AnyView {
    let id = block.id;
    let questions = &ask.request.questions;
    let first = questions
        .first()
        .map_or("Question", |question| question.text.as_str());
    if let Some(resolved) = &ask.resolved {
        let open = ctx.with_value(|context| context.store.is_open(id));
        let answers = resolved.answers.as_ref();
        let told = answers.map(|answers| told_answers(questions, answers));
        let told = told.unwrap_or_default();
        let said = told.iter().filter(|text| !text.is_empty());
        let said: Vec<&str> = said.map(String::as_str).collect();
        let said = units::first_line(&said.join(" · "), SHOWN_CHARS);
        let said = (!said.is_empty()).then(|| match said == NOT_SHOWN {
            true => format!(" — {said}"),
            false => format!(" — “{said}”"),
        });
        let what = (
            span().class("verb").child(outcome(resolved)),
            seen::text(format!(" {}", units::first_line(first, 200))),
            said.map(|said| span().class("object").child(seen::text(said))),
        );
        let line = Line::new(Icon::Question, what).time(waited(block.at_ms, ask.answered_ms));
        let body = open.then(|| {
            let none = String::new();
            let asked: Vec<_> = questions
                .iter()
                .enumerate()
                .map(|(nth, question)| {
                    let said = told.get(nth).unwrap_or(&none).clone();
                    (
                        dt().child(seen::text(&*question.text)),
                        dd().child(seen::text(said)),
                    )
                })
                .collect();
            // Those that do not say to what they are.
            let rest = told.get(questions.len()..).unwrap_or_default();
            let rest: Vec<_> = rest
                .iter()
                .map(|said| p().child(seen::text(&**said)))
                .collect();
            let asked = dl().class("well fields").child(asked);
            line::body((asked, rest))
        });
        return (line.toggles(open), body).into_any();
    }
    let (offered, progress, draft) = ctx.with_value(|context| {
        let answering = &context.answering;
        (
            answering.is_offered() && ask.request.answerable != Some(false),
            answering.progress(id),
            answering.draft(id),
        )
    });
    let answerable = offered && !ask.expired;
    let asked: Vec<AnyView> = questions
        .iter()
        .enumerate()
        .map(|(at, question)| {
            let since = (at == 0).then(|| match ask.expired {
                true => Some(unanswered()),
                false => elapsed::waiting(ctx, block.at_ms).map(IntoAny::into_any),
            });
            let head = head_of(question, since.flatten());
            // The words are the session's, the means to answer are the reader's.
            let fields = if answerable {
                here(fields_of(ctx, id, at, question, &draft))
            } else {
                options_of(question)
            };
            (head, fields).into_any()
        })
        .collect();
    let controls = (!ask.expired).then(|| {
        if !offered {
            return elsewhere("");
        }
        let request_id = ask.request.request_id.clone();
        controls(ctx, id, request_id, questions.clone(), progress)
    });
    div()
        .class(card_class(ask.expired))
        .child((asked, controls))
        .into_any()
}

fn outcome(resolved: &QuestionResolved) -> &'static str {
    match resolved.outcome.as_str() {
        "rejected" => "Declined",
        "expired" => "Not answered",
        _ => "Answered",
    }
}

fn head_of(question: &Question, since: Option<AnyView>) -> impl IntoView + use<> {
    let header = question
        .header
        .clone()
        .filter(|header| !header.is_empty())
        .map(|header| span().class("subtle ask__header").child(seen::text(header)));
    div().class("ask__head").child((
        icon_with(Icon::Question, "icon ask__icon"),
        span()
            .class("ask__question")
            .child(seen::text(&*question.text)),
        header,
        since,
    ))
}

/// The options as words.
fn options_of(question: &Question) -> AnyView {
    let options: Vec<_> = question
        .options
        .iter()
        .map(|option| {
            let more = described(option.description.as_deref());
            li().child((seen::text(&*option.label), more))
        })
        .collect();
    let options = (!options.is_empty()).then(|| ul().class("ask__list").child(options));
    here(options)
}

fn described(description: Option<&str>) -> Option<impl IntoView + use<>> {
    let text = description.filter(|text| !text.is_empty())?;
    Some(
        span()
            .class("muted")
            .child(seen::text(format!(" — {text}"))),
    )
}

/// The options as radios or boxes, and a text beside them.
fn fields_of(
    ctx: Ctx,
    id: BlockId,
    at: usize,
    question: &Question,
    draft: &Draft,
) -> impl IntoView + use<> {
    let multi = question.multi == Some(true);
    let secret = question.secret == Some(true);
    let n_options = question.options.len();
    let choice = draft.questions.get(at).cloned().unwrap_or_default();
    let name = format!("ask-{}-{at}", id.0);
    let toggle = move |place: usize, on: bool| {
        ctx.with_value(|context| {
            context.answering.edit(id, |draft| {
                let chosen = &mut choice_of(draft, at).chosen;
                if !multi {
                    chosen.clear();
                }
                if on {
                    chosen.insert(place);
                } else {
                    chosen.remove(&place);
                }
            });
        });
    };
    let mark = move |place: usize, checked: bool| {
        input()
            .attr("type", if multi { "checkbox" } else { "radio" })
            .attr("name", name.clone())
            .prop("checked", checked)
            .on(ev::change, move |event| {
                toggle(place, event_target_checked(&event))
            })
    };
    let mut lines: Vec<AnyView> = question
        .options
        .iter()
        .enumerate()
        .map(|(place, option)| {
            let more = described(option.description.as_deref());
            let text = span().child((seen::text(&*option.label), more));
            let mark = mark(place, choice.chosen.contains(&place));
            label().class("ask__option").child((mark, text)).into_any()
        })
        .collect();
    let typed = input()
        .attr("type", if secret { "password" } else { "text" })
        .attr("autocomplete", "off")
        .class("field")
        .attr(
            "aria-label",
            if n_options == 0 {
                "Answer"
            } else {
                "Another answer"
            },
        )
        .attr(
            "placeholder",
            if n_options == 0 { "Answer" } else { "Other…" },
        )
        .prop("value", choice.text.clone())
        .on(ev::input, move |event| {
            let text = event_target_value(&event);
            let is_empty = text.is_empty();
            ctx.with_value(|context| {
                let before = context.answering.draft(id);
                context
                    .answering
                    .edit(id, |draft| choice_of(draft, at).text = text);
                let was_chosen = before
                    .questions
                    .get(at)
                    .is_some_and(|choice| choice.chosen.contains(&n_options));
                if was_chosen == is_empty {
                    toggle(n_options, !is_empty);
                    // Its own mark follows the text.
                    context.store.touch(id);
                }
            });
        });
    lines.push(if n_options == 0 {
        div().class("ask__option").child(typed).into_any()
    } else {
        let mark = mark(n_options, choice.chosen.contains(&n_options))
            .attr("aria-label", "Another answer, written beside");
        div().class("ask__option").child((mark, typed)).into_any()
    });
    let hint = if multi {
        "Choose one or more"
    } else {
        "Choose one"
    };
    fieldset().class("ask__fields").child((
        legend().class("visually-hidden").child(if n_options == 0 {
            question.text.clone()
        } else {
            format!("{} {hint}", question.text)
        }),
        (multi && n_options > 0).then(|| p().class("subtle").child(hint)),
        lines,
    ))
}

fn choice_of(draft: &mut Draft, at: usize) -> &mut Choice {
    if draft.questions.len() <= at {
        draft.questions.resize_with(at + 1, Choice::default);
    }
    &mut draft.questions[at]
}

fn controls(
    ctx: Ctx,
    id: BlockId,
    request_id: String,
    questions: Vec<Question>,
    progress: Option<Progress>,
) -> AnyView {
    let sending = progress == Some(Progress::Sending);
    let reject = {
        let request_id = request_id.clone();
        move || {
            let answer = Answer::Question {
                request_id: request_id.clone(),
                answers: None,
            };
            ctx.with_value(|context| context.answer(id, answer));
        }
    };
    let submit = move || {
        ctx.with_value(|context| {
            let draft = context.answering.draft(id);
            match answers_of(&questions, &draft) {
                Ok(answers) => {
                    let answer = Answer::Question {
                        request_id: request_id.clone(),
                        answers: Some(answers),
                    };
                    context.answer(id, answer);
                }
                Err(lacking) => {
                    let which = match questions.len() {
                        1 => "it".to_owned(),
                        _ => format!(
                            "“{}”",
                            units::first_line(&questions[lacking].text, SHOWN_CHARS)
                        ),
                    };
                    context.refuse(id, &format!("{which} has no answer yet"), lacking);
                }
            }
        });
    };
    let buttons = div().class("ask__row").child((
        answer_button("Answer".to_owned(), true, sending, submit),
        answer_button("Decline".to_owned(), false, sending, reject),
    ));
    let worded = |first: &Json| {
        let resolved: Option<QuestionResolved> = first.parse();
        resolved.map(|resolved| outcome(&resolved).to_owned())
    };
    here((buttons, came_of_it(progress, worded)))
}

/// What was chosen and written, question by question; else the first that has nothing.
fn answers_of(questions: &[Question], draft: &Draft) -> Result<Vec<Vec<String>>, usize> {
    let none = Choice::default();
    questions
        .iter()
        .enumerate()
        .map(|(at, question)| {
            let choice = draft.questions.get(at).unwrap_or(&none);
            let n_options = question.options.len();
            let own = choice.chosen.contains(&n_options) || n_options == 0;
            let own = (own && !choice.text.trim().is_empty()).then(|| choice.text.clone());
            let places: &BTreeSet<usize> = &choice.chosen;
            let answers: Vec<String> = places
                .iter()
                .filter_map(|place| question.options.get(*place))
                .map(|option| option.label.clone())
                .chain(own)
                .collect();
            match answers.is_empty() {
                true => Err(at),
                false => Ok(answers),
            }
        })
        .collect()
}

//! What waits for the reader: permissions and questions; answered, one neutral line. This page shows them; answering
//! is for where the agent runs.

use chat_event::payload::Question;
use chat_feed::units;
use chat_feed::{Block, Feed, PermissionBlock, QuestionBlock};
use leptos::html::{div, li, p, span, ul};
use leptos::prelude::*;

use super::icon::{Icon, icon_with};
use super::line::Line;
use super::{Ctx, raw};

/// A request for permission.
pub(crate) fn permission(ctx: Ctx, feed: &Feed, block: &Block, ask: &PermissionBlock) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let request = &ask.request;
    let told = |key: &str| {
        let args = request.args.as_ref()?;
        args.get(key)
            .and_then(|value| value.as_str().map(|text| text.into_owned()))
    };
    let object = told("command")
        .or_else(|| told("file_path"))
        .or_else(|| request.title.clone())
        .unwrap_or_else(|| request.tool_name.clone());
    let object = units::below(&object, feed.session().cwd.as_deref()).to_owned();
    if let Some(resolved) = &ask.resolved {
        let verb = match (resolved.decision.as_str(), resolved.scope.as_deref()) {
            ("allow", Some("once")) => "Allowed once",
            ("allow", Some("session")) => "Allowed in this session",
            ("allow", Some("always")) => "Always allowed",
            ("allow", _) => "Allowed",
            ("deny", _) => "Denied",
            _ => "Cancelled",
        };
        let by = resolved.by.as_deref().map(|by| format!("by {by}"));
        let what = (
            span().class("verb").child(verb),
            " ",
            span()
                .class("object mono")
                .child(units::first_line(&object, 200)),
        );
        let line = Line::new(Icon::Shield, what).outcome(by.unwrap_or_default());
        let body = open.then(|| {
            let said = resolved
                .message
                .clone()
                .map(|message| p().class("muted").child(message));
            div()
                .class("body")
                .child((said, request.args.as_ref().map(raw::fields)))
        });
        return (line.toggles(ctx, id, open), body).into_any();
    }
    let tool = if request.tool_name.is_empty() {
        "this tool"
    } else {
        &request.tool_name
    };
    let title = if ask.expired {
        format!("{tool} was not answered")
    } else {
        format!("Allow {tool}?")
    };
    let options: Vec<&str> = request
        .options
        .iter()
        .map(|option| option.label.as_str())
        .filter(|label| !label.is_empty())
        .collect();
    let hint = if ask.expired {
        String::new()
    } else {
        " – answered where the agent runs".to_owned()
    };
    let options = (!options.is_empty()).then(|| format!("{}{hint}", options.join(" · ")));
    div()
        .class(if ask.expired {
            "ask ask--expired"
        } else {
            "ask"
        })
        .child((
            div().class("ask__head").child((
                icon_with(Icon::Shield, "icon ask__icon"),
                span().child(title),
            )),
            p().class("ask__object mono").child(object),
            request
                .reason
                .clone()
                .map(|reason| p().class("muted").child(reason)),
            options.map(|options| p().class("subtle").child(options)),
        ))
        .into_any()
}

/// Questions.
pub(crate) fn question(ctx: Ctx, block: &Block, ask: &QuestionBlock) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let first = ask
        .request
        .questions
        .first()
        .map_or("Question", |question| question.text.as_str());
    if let Some(resolved) = &ask.resolved {
        let verb = match resolved.outcome.as_str() {
            "rejected" => "Rejected",
            "expired" => "Not answered",
            _ => "Answered",
        };
        let secret = ask
            .request
            .questions
            .iter()
            .any(|question| question.secret == Some(true));
        let what = (
            span().class("verb").child(verb),
            format!(" {}", units::first_line(first, 200)),
        );
        let line = Line::new(Icon::Question, what);
        let body = open.then(|| {
            let answers = resolved
                .answers
                .as_ref()
                .filter(|_| !secret)
                .map(raw::fields);
            let hidden = secret.then(|| p().class("muted").child("The answer is not shown"));
            div().class("body").child((answers, hidden))
        });
        return (line.toggles(ctx, id, open), body).into_any();
    }
    let questions: Vec<AnyView> = ask
        .request
        .questions
        .iter()
        .map(|question| one(question).into_any())
        .collect();
    div()
        .class(if ask.expired {
            "ask ask--expired"
        } else {
            "ask"
        })
        .child(questions)
        .into_any()
}

fn one(question: &Question) -> impl IntoView + use<> {
    let header = question
        .header
        .clone()
        .map(|header| span().class("subtle").child(header));
    let head = (
        icon_with(Icon::Question, "icon ask__icon"),
        span().child(question.text.clone()),
        header,
    );
    let options: Vec<_> = question
        .options
        .iter()
        .map(|option| {
            let more = option
                .description
                .clone()
                .map(|text| span().class("muted").child(format!(" — {text}")));
            li().child((option.label.clone(), more))
        })
        .collect();
    let options = (!options.is_empty()).then(|| ul().class("ask__list").child(options));
    (div().class("ask__head").child(head), options)
}

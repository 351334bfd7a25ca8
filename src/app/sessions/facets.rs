//! Menus that write into the filter: agent, project, status. What they say could be typed.

use chat_feed::sessions::{Facet, Filter, Rows};
use leptos::ev;
use leptos::html::{div, option, select};
use leptos::prelude::*;

use super::State;

/// A menu of more values is not read; the others can be typed.
const MOST_VALUES: usize = 60;

const STATUSES: &[(&str, &str)] = &[
    ("waiting", "Needs you"),
    ("running", "Running"),
    ("quiet", "Quiet"),
    ("idle", "Idle"),
    ("failed", "Failed"),
    ("cancelled", "Cancelled"),
    ("done", "Done"),
];

/// The menus; in the narrow list they are there when they are asked for.
pub(super) fn view(state: State, is_open: RwSignal<bool>) -> impl IntoView {
    let n_changes = Memo::new(move |_| state.rows.with(Rows::n_value_changes));
    let values = move |is_agents: bool| {
        // Read, and not only tracked: a memo that nobody reads hears of no change.
        let _ = n_changes.get();
        // Those of files come with their titles.
        let values = state.local.with(|local| {
            state.rows.with_untracked(|rows| {
                let files = local.iter().map(|session| session.row());
                match is_agents {
                    true => rows.agents(files, MOST_VALUES),
                    false => rows.projects(files, MOST_VALUES),
                }
            })
        });
        let named = values.into_iter();
        named.map(|(value, _)| (value.clone(), value)).collect()
    };
    let statuses = move || {
        let named = STATUSES.iter();
        named
            .map(|(value, name)| ((*value).to_owned(), (*name).to_owned()))
            .collect()
    };
    let agents = move || values(true);
    let projects = move || values(false);
    div()
        .class("facets")
        .attr("data-open", move || is_open.get().then_some(""))
        .child((
            menu(state, Facet::Agent, ("Agent", "All agents"), agents),
            menu(state, Facet::Project, ("Project", "All projects"), projects),
            menu(state, Facet::Is, ("Status", "Any status"), statuses),
        ))
}

fn menu(
    state: State,
    facet: Facet,
    (name, all): (&'static str, &'static str),
    values: impl Fn() -> Vec<(String, String)> + Send + Sync + 'static,
) -> impl IntoView {
    let chosen = move || {
        let filter = state.filter.get();
        let filter = Filter::parse(&filter);
        filter.value(facet).map(str::to_owned).unwrap_or_default()
    };
    let options = move || {
        let chosen = chosen();
        let values = values().into_iter().map(|(value, name)| {
            let is_chosen = value.replace('"', "").to_lowercase() == chosen;
            option()
                .attr("value", value)
                .prop("selected", is_chosen)
                .child(name)
        });
        values.collect::<Vec<_>>()
    };
    select()
        .class("facet")
        .attr("aria-label", name)
        .on(ev::change, move |event| {
            let value = event_target_value(&event);
            let value = Some(value.as_str()).filter(|value| !value.is_empty());
            let text = Filter::with(&state.filter.get_untracked(), facet, value);
            state.filter.set(text);
        })
        .child((
            option()
                .attr("value", "")
                .prop("selected", move || chosen().is_empty())
                .child(all),
            options,
        ))
}

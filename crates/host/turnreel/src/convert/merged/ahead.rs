//! Which sources tell their next turn now: what each tells next beside what the others tell, then and later.
//!
//! A turn may wait for long while another source tells many. So what was found of it once is kept until it is told, and of
//! what another source reads meanwhile only the new is looked at.

use super::Source;
use super::order::Stretch;

/// The turn that a source tells next.
pub(super) struct Next {
    pub(super) stretch: Stretch,
    /// What is known of it beside the other sources, by their places.
    beside: Vec<Beside>,
}

/// What is known of a turn beside another source.
#[derive(Clone, Copy, Default)]
struct Beside {
    alike: Option<Alike>,
    /// The last place at which the other one tells something of it.
    last_place: Option<u64>,
    /// Up to where the other one was looked through for it.
    seen_to: u64,
}

/// Whether two turns are alike.
#[derive(Clone, Copy)]
struct Alike {
    /// How much the other source had told: what it tells next is another turn by now, where it is more.
    n_told: u64,
    shares: bool,
    has_words: bool,
}

/// The sources whose turn it is: one that told the fewest turns, of those the one that was named first; and those that tell
/// the same turn now.
pub(super) fn next(sources: &mut [Source]) -> Vec<usize> {
    let n_sources = sources.len();
    for source in sources.iter_mut() {
        if source.next.is_none() && !source.queue.is_empty() {
            let n_next = source.n_next();
            source.next = Some(Next {
                stretch: Stretch::of(source.queue.iter().take(n_next)),
                beside: vec![Beside::default(); n_sources],
            });
        }
    }
    let mut order: Vec<usize> = (0..n_sources)
        .filter(|at| sources[*at].next.is_some())
        .collect();
    let telling = order.clone();
    order.sort_by_key(|at| (sources[*at].n_turns, *at));
    let first = order
        .iter()
        .copied()
        .find(|first| !is_later(sources, &order, *first));
    let Some(first) = first.or(order.first().copied()) else {
        return Vec::new();
    };
    let mut group = telling;
    group.retain(|other| *other == first || is_same(sources, first, *other));
    group
}

/// Whether another source tells the next turn of this one later: what it tells before was before.
fn is_later(sources: &mut [Source], telling: &[usize], one: usize) -> bool {
    let others = || telling.iter().copied().filter(|other| *other != one);
    // What is known already is asked first.
    let is_known =
        others().any(|other| is_known_later(sources, one, other) && !is_same(sources, one, other));
    is_known
        || others().any(|other| comes_later(sources, one, other) && !is_same(sources, one, other))
}

fn is_known_later(sources: &[Source], one: usize, other: usize) -> bool {
    let next = sources[one].next.as_ref();
    let place = next.and_then(|next| next.beside[other].last_place);
    place.is_some_and(|place| place >= sources[other].behind_next())
}

/// Whether the other source tells behind its next turn what the next turn of this one tells.
fn comes_later(sources: &mut [Source], one: usize, other: usize) -> bool {
    if is_known_later(sources, one, other) {
        return true;
    }
    let Some(mut next) = sources[one].next.take() else {
        return false;
    };
    let Source {
        queue,
        n_told,
        last_places,
        ..
    } = &sources[other];
    let beside = &mut next.beside[other];
    let found = if beside.seen_to == 0 {
        let places = next.stretch.keys().filter_map(|key| last_places.get(key));
        places.max().copied()
    } else {
        let from = beside.seen_to.max(*n_told);
        let n_seen = usize::try_from(from - n_told).unwrap_or(usize::MAX);
        let new = (from..).zip(queue.iter().skip(n_seen));
        let of_it = new.filter(|(_, (_, key))| key.is_some_and(|key| next.stretch.is_about(key)));
        of_it.last().map(|(place, _)| place)
    };
    beside.last_place = found.or(beside.last_place);
    beside.seen_to = n_told + queue.len() as u64;
    sources[one].next = Some(next);
    is_known_later(sources, one, other)
}

/// Whether two sources tell the same turn next.
fn is_same(sources: &mut [Source], one: usize, other: usize) -> bool {
    let in_step = sources[one].n_turns == sources[other].n_turns;
    let Some(mut next) = sources[one].next.take() else {
        return false;
    };
    let n_told = sources[other].n_told;
    let known = &mut next.beside[other].alike;
    let alike = known.filter(|alike| alike.n_told == n_told).or_else(|| {
        let of_other = &sources[other].next.as_ref()?.stretch;
        Some(Alike {
            n_told,
            shares: next.stretch.shares(of_other),
            has_words: next.stretch.has_words_of(of_other),
        })
    });
    *known = alike;
    sources[one].next = Some(next);
    alike.is_some_and(|alike| alike.shares || (in_step && alike.has_words))
}

#[cfg(test)]
mod tests {
    use chat_event::payload::{ToolCall, TurnStart, UserMessage};
    use chat_event::{ChatEvent, Payload};

    use super::*;
    use crate::convert::inputs::Origin;
    use crate::convert::merged::order;
    use crate::convert::reading::{Failed, Session};

    /// Nothing: what it would give is put into the queue.
    struct Silent;

    impl Session for Silent {
        fn read(&mut self, _: &mut Vec<ChatEvent>) -> Result<bool, Failed> {
            Ok(false)
        }

        fn n_bytes(&self) -> u64 {
            0
        }

        fn n_events(&self) -> u64 {
            0
        }

        fn faults(&self) -> Vec<String> {
            Vec::new()
        }
    }

    /// As [`next`], from the beginning each time.
    fn plain_next(sources: &[Source]) -> Vec<usize> {
        let stretches: Vec<(usize, Stretch)> = (0..)
            .zip(sources)
            .filter(|(_, source)| !source.queue.is_empty())
            .map(|(at, source)| {
                let events = source.queue.iter().take(source.n_next());
                (at, Stretch::of(events))
            })
            .collect();
        let same = |(one, of_one): &(usize, Stretch), (other, of_other): &(usize, Stretch)| {
            let in_step = sources[*one].n_turns == sources[*other].n_turns;
            of_one.shares(of_other) || (in_step && of_one.has_words_of(of_other))
        };
        let mut order: Vec<&(usize, Stretch)> = stretches.iter().collect();
        order.sort_by_key(|(at, _)| (sources[*at].n_turns, *at));
        let comes_later = |at: usize, stretch: &Stretch| {
            let source = &sources[at];
            let mut later = source.queue.iter().skip(source.n_next());
            later.any(|(event, _)| order::key_of(event).is_some_and(|key| stretch.is_about(key)))
        };
        let is_later = |first: &(usize, Stretch)| {
            let mut others = order.iter().filter(|other| other.0 != first.0);
            others.any(|other| !same(first, other) && comes_later(other.0, &first.1))
        };
        let first = order.iter().find(|first| !is_later(first));
        let Some(first) = first.or(order.first()) else {
            return Vec::new();
        };
        let group = stretches
            .iter()
            .filter(|other| other.0 == first.0 || same(first, other));
        group.map(|(at, _)| *at).collect()
    }

    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, n_sides: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % n_sides
        }
    }

    fn event(dice: &mut Dice, n_names: u64) -> ChatEvent {
        let name = dice.roll(n_names);
        let payload = match dice.roll(10) {
            0..3 => Payload::from(TurnStart::default()),
            3..7 => Payload::from(ToolCall {
                tool_call_id: format!("c{name}"),
                ..ToolCall::default()
            }),
            _ => Payload::from(UserMessage {
                text: format!("Prompt {name}").into(),
                ..UserMessage::default()
            }),
        };
        ChatEvent::new("e", 1, "s", payload)
    }

    /// How many turns a source has that are whole.
    fn n_whole(source: &Source) -> usize {
        source
            .begins
            .len()
            .saturating_sub(usize::from(!source.is_cut))
    }

    #[test]
    fn what_is_kept_of_a_turn_changes_nothing_of_whose_turn_it_is() {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        for round in 0..400 {
            let n_sources = 2 + dice.roll(4);
            let n_names = 3 + dice.roll(40);
            let mut sources: Vec<Source> = (0..n_sources)
                .map(|_| Source::new(String::new(), Origin::Named, Box::new(Silent)))
                .collect();
            let mut left: Vec<u64> = sources.iter().map(|_| dice.roll(80)).collect();
            loop {
                for (source, left) in sources.iter_mut().zip(&mut left) {
                    // Its next turn is known to its end, and sometimes more.
                    while *left > 0 && (n_whole(source) < 1 || dice.roll(3) > 0) {
                        source.put(event(&mut dice, n_names));
                        *left -= 1;
                    }
                    source.more = *left > 0;
                }
                let expected = plain_next(&sources);
                let group = next(&mut sources);
                assert_eq!(group, expected, "round {round}");
                if group.is_empty() {
                    break;
                }
                for at in group {
                    sources[at].next = None;
                    sources[at].take();
                }
            }
        }
    }
}

//! A feed kept up to date from another instance of the program, which reads the log: what one tells the other.
//!
//! The one that reads remembers what the other has, and tells what that lacks: what came, and what is another than it
//! was. What it tells is at most as much as what changed, and finding it costs a look at each row and no more. How the
//! bytes get from one to the other is for the page.

use chat_event::pack::{Pack, Packer, Unpacker};

/// What can be kept up to date.
pub(crate) trait Replicate {
    /// Writes what `told` lacks, and gives it that.
    fn tell(&self, told: &mut Self, out: &mut Packer);
    /// Takes what was written.
    fn hear(&mut self, input: &mut Unpacker<'_>);
}

/// Tells a value whole, where it changed.
pub(crate) fn tell_value<T: Pack + PartialEq + Clone>(now: &T, told: &mut T, out: &mut Packer) {
    let changed = now != told;
    changed.pack(out);
    if changed {
        now.pack(out);
        told.clone_from(now);
    }
}

/// Takes what [`tell_value`] wrote.
pub(crate) fn hear_value<T: Pack>(value: &mut T, input: &mut Unpacker<'_>) {
    if bool::unpack(input) {
        *value = T::unpack(input);
    }
}

/// Tells a list whose items stay what they were: what came behind them.
pub(crate) fn tell_appended<T: Pack + Clone>(now: &[T], told: &mut Vec<T>, out: &mut Packer) {
    let appended = now.get(told.len()..).unwrap_or_default();
    out.number(appended.len() as u64);
    for item in appended {
        item.pack(out);
    }
    told.extend_from_slice(appended);
}

/// Takes what [`tell_appended`] wrote.
pub(crate) fn hear_appended<T: Pack>(list: &mut Vec<T>, input: &mut Unpacker<'_>) {
    let n_more = input.count();
    if list.is_empty() {
        // Most lists come once and whole.
        list.reserve_exact(n_more);
    }
    for _ in 0..n_more {
        let item = T::unpack(input);
        list.push(item);
    }
}

/// Tells a list in which any item may have become another, by `same`; `tell` tells one of them.
pub(crate) fn tell_list_by<T: Clone>(
    now: &[T],
    told: &mut Vec<T>,
    out: &mut Packer,
    same: impl Fn(&T, &T) -> bool,
    mut tell: impl FnMut(&T, Option<&mut T>, &mut Packer),
) {
    out.number(now.len() as u64);
    told.truncate(now.len());
    let is_other = |(at, (now, told)): (usize, (&T, &T))| (!same(now, told)).then_some(at);
    let others = now.iter().zip(told.iter()).enumerate();
    let others: Vec<usize> = others.filter_map(is_other).collect();
    out.number(others.len() as u64);
    let mut behind = 0;
    for at in others {
        // Neighbours change together, so the way from one to the next is short.
        out.number((at - behind) as u64);
        behind = at;
        if let (Some(now), Some(told)) = (now.get(at), told.get_mut(at)) {
            tell(now, Some(&mut *told), out);
            told.clone_from(now);
        }
    }
    for item in now.get(told.len()..).unwrap_or_default() {
        tell(item, None, out);
        told.push(item.clone());
    }
}

/// Takes what [`tell_list_by`] wrote; `hear` takes one item, which the list may have had before.
pub(crate) fn hear_list_by<T>(
    list: &mut Vec<T>,
    input: &mut Unpacker<'_>,
    mut hear: impl FnMut(Option<&mut T>, &mut Unpacker<'_>) -> Option<T>,
) {
    let len = input.size();
    list.truncate(len);
    if list.is_empty() {
        // Most lists come once and whole.
        list.reserve_exact(len.min(input.n_left()));
    }
    let mut at = 0;
    for _ in 0..input.count() {
        at += input.size();
        match list.get_mut(at) {
            Some(item) => {
                if let Some(new) = hear(Some(&mut *item), input) {
                    *item = new;
                }
            }
            None => return input.fail(),
        }
    }
    while list.len() < len && input.goes_on() {
        match hear(None, input) {
            Some(item) => list.push(item),
            None => return input.fail(),
        }
    }
}

/// Tells a list in which any item may have become another.
pub(crate) fn tell_list<T: Pack + PartialEq + Clone>(
    now: &[T],
    told: &mut Vec<T>,
    out: &mut Packer,
) {
    let same = |now: &T, told: &T| now == told;
    tell_list_by(now, told, out, same, |item, _, out| item.pack(out));
}

/// Takes what [`tell_list`] wrote.
pub(crate) fn hear_list<T: Pack>(list: &mut Vec<T>, input: &mut Unpacker<'_>) {
    hear_list_by(list, input, |_, input| Some(T::unpack(input)));
}

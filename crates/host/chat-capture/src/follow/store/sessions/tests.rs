//! Whose parts sessions are, in whatever order they are found.

use super::*;

#[derive(Debug, Default)]
struct Of {
    parent: Option<String>,
    is_hidden: bool,
}

impl Known for Of {
    fn updated_ms(&self) -> i64 {
        0
    }

    fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    fn is_shown(&self) -> bool {
        !self.is_hidden
    }
}

/// Each slice of rows is a list of `ID` and `PARENT`.
fn sessions(slices: &[&[(&str, &str)]]) -> Sessions<Of> {
    let mut sessions = Sessions::default();
    for slice in slices {
        for (id, parent) in *slice {
            let parent = Some((*parent).to_owned()).filter(|it| !it.is_empty());
            let known = Of {
                parent,
                is_hidden: false,
            };
            sessions.note((*id).to_owned(), known);
        }
        slice.iter().for_each(|(id, _)| sessions.join(id));
    }
    sessions
}

/// A session is a part of the one that it says it is, and that one has it.
fn assert_fits(sessions: &Sessions<Of>) {
    let mut n_members = 0;
    for id in sessions.known.keys() {
        let root = sessions.root(id);
        assert_eq!(sessions.root(root), root, "{id}");
        assert!(sessions.members(root).contains(id), "{id}");
        if root == id {
            n_members += sessions.members(id).len();
        }
    }
    assert_eq!(n_members, sessions.known.len());
}

#[test]
fn who_works_for_whom_is_the_same_in_whatever_order_they_are_found() {
    let rows = [("a", ""), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "a")];
    for order in [
        [0, 1, 2, 3, 4],
        [4, 3, 2, 1, 0],
        [3, 1, 2, 4, 0],
        [2, 3, 1, 0, 4],
    ] {
        let rows = order.map(|at| rows[at]);
        let one_by_one: Vec<&[_]> = rows.chunks(1).collect();
        for slices in [&[&rows[..]][..], &one_by_one] {
            let sessions = sessions(slices);
            assert_fits(&sessions);
            assert_eq!(sessions.members("a").len(), 5, "{order:?}");
            assert_eq!(sessions.count().0, 1);
        }
    }
}

#[test]
fn one_that_is_said_to_work_for_another_later_takes_its_own_with_it() {
    let mut sessions = sessions(&[&[("a", ""), ("b", ""), ("c", "b"), ("d", "a")]]);
    assert_eq!(sessions.members("b").len(), 2);
    sessions.note(
        "b".to_owned(),
        Of {
            parent: Some("a".to_owned()),
            is_hidden: false,
        },
    );
    sessions.join("b");
    assert_fits(&sessions);
    assert_eq!(sessions.members("a").len(), 4);
}

#[test]
fn circles_and_those_whose_own_row_is_gone_hold_nothing_up() {
    let circle = sessions(&[&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "e")]]);
    assert_fits(&circle);
    let circle = sessions(&[&[("a", "b")], &[("b", "c")], &[("c", "a")], &[("d", "a")]]);
    assert_fits(&circle);
    let gone = sessions(&[&[("a", "gone"), ("b", "a")]]);
    assert_eq!(gone.root("b"), "gone");
    assert_eq!(gone.members("gone").len(), 3);
    assert_eq!(gone.count().0, 0);
    let long: Vec<(String, String)> = (0..200)
        .map(|n| (n.to_string(), (n + 1).to_string()))
        .collect();
    let long: Vec<(&str, &str)> = long.iter().map(|(a, b)| (&**a, &**b)).collect();
    assert_eq!(sessions(&[&long]).members("200").len(), 201);
}

#[test]
fn what_is_hidden_is_not_wanted_nor_counted() {
    let mut sessions = sessions(&[&[("a", ""), ("b", "a")]]);
    let hidden = Of {
        parent: None,
        is_hidden: true,
    };
    sessions.note("h".to_owned(), hidden);
    sessions.want_fresh();
    let wanted = BTreeSet::from(["a".to_owned()]);
    assert_eq!(sessions.wanted, wanted);
    sessions.want(0, &BTreeMap::from([("h".to_owned(), Told::default())]));
    assert_eq!(sessions.wanted, wanted);
    assert_eq!(sessions.count(), (1, 1));
}

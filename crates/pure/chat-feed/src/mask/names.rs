//! Names of users that a home folder told, found again wherever they stand.
//!
//! A name is masked where a path or a tool says that it is one ([`is_told`]), however common it is; and as a word by
//! itself anywhere, unless it is an ordinary word ([`is_ordinary`]): of whom a `dev` tells nobody knows, and a text
//! without that word says no more what it said.

use super::find::{Found, Rank};
use super::keywords::Keywords;
use super::labels::Labels;
use super::personal::{self, USER_NAME};

/// Words that users are called by and texts are made of. What a log itself is made of is among them: masked in a field
/// that says what an event is, a name would make it another. So are the words of which addresses of pages are made, for
/// `/home/settings` need be no folder.
const ORDINARY: &str = "\
    about access account action activity add admin administrator agent alpine android any api app apps arch article \
    articles asset assets assistant auth author backup bash beta bin blog board book books bot box browse build \
    builder cart category chat checkout circleci claude claw client cloud code coder codespace codex command compare \
    components config contact content copilot core course courses created cursor daemon dashboard data database \
    debian debug default delete deleted demo deploy deployer desktop detail details dev devel developer developers \
    devs dir discover docker docs download downloads edit edition engineer error event example exec explore export \
    faq favorites fedora feed file files find footer ftp gemini general git github gitlab gitpod glob global go grep \
    group guest header help history home host http icon icons image images import inbox index info input install \
    items java jenkins job kali kernel lab layout learn legal lib library linux list local localhost log login mac \
    machine mail main masked master max media menu message messages model modified more music mysql name navigation \
    network new news nginx nobody node none notes notifications null number office old opencode ops oracle order \
    orders output overview owner page pages password path person personal photos pi pip plan play postgres pricing \
    print privacy private prod product products profile project projects public python read recent recommended redis \
    register remote repo reports reset review reviews root ruby run runner rust sandbox script search secret \
    security server service session settings setup shared shell shop sidebar signin signup site sitemap social \
    software some src ssh staff staging start static stats status store student styles subscribe sudo summary \
    support sys system tab tabs tags task team temp template templates terms test tester testing tests text theme \
    themes thinking tmp today token tool tools top tour trending true tutorial type ubuntu unknown update updates \
    upload uploads user username users vagrant value var video videos view views virtual web welcome wiki windows \
    work worker workspace workspaces write www you";

/// A shorter name is as good as any word.
const LEAST_CHARS: usize = 3;

/// The names of a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    table: Keywords,
    labels: Vec<(usize, bool)>,
}

impl Names {
    /// Those of the labels, where they are masked.
    pub(super) fn new(labels: &Labels, is_masked: impl Fn(&'static str) -> bool) -> Self {
        let all = labels.all().iter().enumerate();
        let names = all.filter(|(_, labelled)| labelled.kind == USER_NAME && is_masked(USER_NAME));
        let names: Vec<_> = names.collect();
        Names {
            table: Keywords::new(
                names
                    .iter()
                    .map(|(_, labelled)| labelled.value.text().as_bytes()),
            ),
            labels: names
                .iter()
                .map(|(label, labelled)| (*label, is_ordinary(labelled.value.text())))
                .collect(),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Adds where they stand in a text.
    pub(super) fn find(&self, text: &str, labels: &Labels, all: &mut Vec<Found>) {
        if self.labels.is_empty() {
            return;
        }
        self.table.each(text.as_bytes(), |word, at| {
            let Some(&(label, is_ordinary)) = self.labels.get(word) else {
                return;
            };
            let Some(labelled) = labels.get(label) else {
                return;
            };
            let range = at..at + labelled.value.len();
            let (before, behind) = (&text[..range.start], &text[range.end..]);
            let is_name = is_word(before, behind)
                && (!is_ordinary || is_told(before, behind))
                && !is_in_label(before);
            if is_name {
                all.push(Found {
                    range,
                    kind: labelled.kind,
                    value: labelled.value.clone(),
                    rank: Rank::Personal,
                });
            }
        });
    }
}

/// Whether a name is left where nothing says that it is one.
fn is_ordinary(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name.chars().count() < LEAST_CHARS
        || name.contains('.') && personal::is_file(name)
        || name.bytes().all(|byte| byte.is_ascii_digit())
        || ORDINARY.split_ascii_whitespace().any(|word| word == lower)
}

/// Whether what stands between these is a word by itself. A letter that is the end of an escape is of no word.
fn is_word(before: &str, behind: &str) -> bool {
    let goes_on = behind.chars().next().is_some_and(char::is_alphanumeric);
    let begun = before
        .chars()
        .next_back()
        .is_some_and(char::is_alphanumeric);
    !goes_on && (!begun || ends_escape(before))
}

/// `\n`, `%2F`, and what colours a terminal's text: `[01;32m`.
fn ends_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_letter = matches!(bytes, [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f']);
    let is_percent = matches!(bytes, [.., b'%', one, other] if one.is_ascii_hexdigit() && other.is_ascii_hexdigit());
    let colour = text.strip_suffix('m').map(|text| {
        text.trim_end_matches(|char: char| char.is_ascii_digit() || matches!(char, ';' | ':'))
    });
    is_letter || is_percent || colour.is_some_and(|text| text.ends_with('['))
}

/// Whether it stands where names of users do.
fn is_told(before: &str, behind: &str) -> bool {
    // `a/home/x`, `\Users\x`, `-home-x`
    let is_home = ["home", "users"].iter().any(|home| {
        let rest = before.strip_suffix(['/', '\\', '-']).unwrap_or_default();
        // Written as it is in JSON.
        let rest = rest.strip_suffix('\\').unwrap_or(rest);
        let at = rest.len().checked_sub(home.len());
        let begins = at
            .filter(|&at| rest.is_char_boundary(at))
            .map(|at| rest.split_at(at));
        begins.is_some_and(|(outer, folder)| {
            folder.eq_ignore_ascii_case(home)
                && !outer.ends_with(|char: char| char.is_alphanumeric())
        })
    });
    let is_assigned = ["USER=", "USERNAME=", "LOGNAME="]
        .iter()
        .any(|begins| before.ends_with(begins));
    // `x@laptop`
    let is_at = behind
        .strip_prefix('@')
        .is_some_and(|host| host.starts_with(|char: char| char.is_ascii_alphanumeric()));
    // `1000(x)`
    let is_id = behind.starts_with(')')
        && before
            .strip_suffix('(')
            .is_some_and(|before| before.ends_with(|char: char| char.is_ascii_digit()));
    let is_tilde = before.strip_suffix('~').is_some_and(|before| {
        !before.ends_with(|char: char| char.is_alphanumeric() || char == '~')
    });
    is_home || is_assigned || is_at || is_id || is_tilde || is_column(before, behind)
}

/// Whether it is the owner or the group in a line of `ls -l`: `-rw-r--r-- 1 x x`.
fn is_column(before: &str, behind: &str) -> bool {
    if !before.ends_with([' ', '\t']) || !behind.starts_with([' ', '\t']) {
        return false;
    }
    let from = text_from(before, 200);
    let line = &from[from.rfind('\n').map_or(0, |at| at + 1)..];
    let mut fields = line.split_ascii_whitespace();
    let is_mode = fields.next().is_some_and(|mode| {
        let (kind, rights) = mode.split_at(usize::from(mode.is_ascii() && !mode.is_empty()));
        "-bcdlps".contains(kind)
            && !kind.is_empty()
            && (9..=10).contains(&rights.len())
            && rights.bytes().all(|byte| b"rwxsStT-.+@".contains(&byte))
    });
    let is_count = fields
        .next()
        .is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()));
    is_mode && is_count && fields.count() < 2
}

/// Whether it is a word of what stands in the place of something that was masked.
fn is_in_label(before: &str) -> bool {
    let near = text_from(before, 60);
    near.rfind("[masked: ")
        .is_some_and(|at| !near[at..].contains(']'))
}

/// The end of a text.
fn text_from(text: &str, n_bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(n_bytes))..]
}

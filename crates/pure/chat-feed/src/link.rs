//! The one policy for addresses that content names: which become links, and what of them is shown.
//!
//! Only `http`, `https` and `mailto` can be followed. What is followed is made anew from its checked parts, so that no
//! browser reads anything else in it than was read here. How a link looks is for the page.

mod host;

use crate::marks;
use host::Host;

/// Longer addresses are text: nobody can read them, and some browsers cut them.
const MOST_BYTES: usize = 2048;

/// What an address may become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// It can be followed.
    Link(Link),
    /// It names a file: text, which a host of the page may open.
    Path,
    /// It stays text.
    Text,
}

/// An address that can be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it leads: printable ASCII, beginning with `http:`, `https:` or `mailto:` and without quotes or brackets.
    pub href: String,
    /// Whom it leads to: the host with its port, or the address of a mail.
    pub host: String,
    /// What a reader should be told of it.
    pub caution: Option<Caution>,
}

/// What a reader should be told of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// It names a user before its host, as if that were the host.
    User,
    /// Its host is written with other letters than ASCII, which can look like them.
    Letters,
    /// It holds characters that cannot be seen.
    Invisible,
    /// It leads into the network of the reader.
    Local,
}

impl Target {
    /// Judges an address.
    ///
    /// ```
    /// use chat_feed::link::Target;
    /// assert!(matches!(Target::of("https://docs.rs/serde"), Target::Link(_)));
    /// assert_eq!(Target::of("src/main.rs:12"), Target::Path);
    /// assert_eq!(Target::of("javascript:alert(1)"), Target::Text);
    /// ```
    pub fn of(address: &str) -> Target {
        if address.len() > MOST_BYTES || address.chars().any(char::is_control) {
            return Target::Text;
        }
        for scheme in ["http://", "https://"] {
            if let Some(rest) = strip_scheme(address, scheme) {
                return web(scheme, rest).map_or(Target::Text, Target::Link);
            }
        }
        if let Some(rest) = strip_scheme(address, "mailto:") {
            return mail(rest).map_or(Target::Text, Target::Link);
        }
        match is_path(address) {
            true => Target::Path,
            false => Target::Text,
        }
    }
}

impl Link {
    /// Whether a label already shows where the link leads: it begins with the host, behind the scheme or without it.
    ///
    /// ```
    /// use chat_feed::link::Target;
    /// let Target::Link(link) = Target::of("https://docs.rs/serde") else { panic!() };
    /// assert!(link.is_shown_by("docs.rs/serde") && !link.is_shown_by("elsewhere.example/docs.rs"));
    /// ```
    pub fn is_shown_by(&self, label: &str) -> bool {
        let label = label.trim();
        let rest = ["http://", "https://", "mailto:"]
            .iter()
            .find_map(|scheme| strip_scheme(label, scheme))
            .unwrap_or(label);
        let Some(start) = rest.get(..self.host.len()) else {
            return false;
        };
        let behind = rest[self.host.len()..].chars().next();
        start.eq_ignore_ascii_case(&self.host)
            && behind.is_none_or(|char| matches!(char, '/' | '?' | '#'))
    }
}

fn strip_scheme<'a>(address: &'a str, scheme: &str) -> Option<&'a str> {
    let start = address.get(..scheme.len())?;
    start
        .eq_ignore_ascii_case(scheme)
        .then(|| &address[scheme.len()..])
}

fn web(scheme: &str, rest: &str) -> Option<Link> {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host = Host::read(host)?;
    let caution = if user.is_some() {
        Some(Caution::User)
    } else if path.chars().any(marks::is_hidden) {
        Some(Caution::Invisible)
    } else if host.letters {
        Some(Caution::Letters)
    } else if host.local {
        Some(Caution::Local)
    } else {
        None
    };
    let mut href = scheme.to_owned();
    if let Some(user) = user {
        // A browser would read the host from behind a backslash.
        if user.contains(['\\', '@']) {
            return None;
        }
        encode(user, &mut href);
        href.push('@');
    }
    href.push_str(&host.ascii);
    encode(path, &mut href);
    Some(Link {
        href,
        host: host.ascii,
        caution,
    })
}

fn mail(rest: &str) -> Option<Link> {
    let (address, _) = rest.split_once('?').unwrap_or((rest, ""));
    let (user, host) = address.rsplit_once('@')?;
    let plain = |char: char| char.is_ascii_alphanumeric() || "!#$&*+-/=^_{|}~.".contains(char);
    let host = Host::read(host).filter(|host| !host.ascii.contains(':'))?;
    if user.is_empty() || !user.chars().all(plain) {
        return None;
    }
    let mut href = "mailto:".to_owned();
    encode(user, &mut href);
    href.push('@');
    href.push_str(&host.ascii);
    Some(Link {
        href,
        host: format!("{user}@{}", host.ascii),
        caution: host.letters.then_some(Caution::Letters),
    })
}

/// Writes what cannot be misread as it is, and all else by its bytes.
fn encode(text: &str, href: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b'{' | b'}' | b'|' | b'^' => {}
            0x21..=0x7e => {
                href.push(char::from(byte));
                continue;
            }
            _ => {}
        }
        href.push('%');
        href.push(char::from(HEX[usize::from(byte >> 4)]));
        href.push(char::from(HEX[usize::from(byte & 15)]));
    }
}

/// Whether it can only be the path of a file: no scheme, no host, nothing a browser would decode.
fn is_path(address: &str) -> bool {
    let mut path = address;
    // Lines and columns stand behind what looks like a file.
    for _ in 0..2 {
        if let Some((before, number)) = path.rsplit_once(':')
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && before.contains(['/', '.'])
        {
            path = before;
        }
    }
    let plain = |char: char| char.is_alphanumeric() || "/._-+~@ ()[]".contains(char);
    !path.is_empty() && !path.starts_with("//") && path.chars().all(plain)
}

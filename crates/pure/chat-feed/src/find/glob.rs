//! Paths as `file:` asks for them: `lib.rs`, `src/**`, `*.md`.

/// A pattern for paths: `?` is one character and `*` any that are no slash, `**` any at all.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    parts: Vec<Part>,
    /// Without a wildcard it is looked for anywhere in the path.
    plain: Option<String>,
    /// Small letters find capitals as well.
    folds: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    One(char),
    AnyOne,
    AnyName,
    AnyPath,
}

impl Glob {
    pub(super) fn new(text: &str) -> Glob {
        // As paths are told.
        let text = text.replace('\\', "/");
        let folds = !text.chars().any(char::is_uppercase);
        let mut parts = Vec::new();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            parts.push(match character {
                '?' => Part::AnyOne,
                '*' if characters.next_if_eq(&'*').is_some() => Part::AnyPath,
                '*' => Part::AnyName,
                character => Part::One(character),
            });
        }
        let is_plain = parts.iter().all(|part| matches!(part, Part::One(_)));
        Glob {
            parts,
            plain: is_plain.then_some(text),
            folds,
        }
    }

    /// Whether a path, or what of it stands behind one of its slashes, is what is asked for.
    pub(super) fn is_of(&self, path: &str) -> bool {
        let path = path.replace('\\', "/");
        let path = if self.folds {
            path.to_lowercase()
        } else {
            path
        };
        if let Some(plain) = &self.plain {
            return path.contains(plain.as_str());
        }
        let behind_slashes = path.match_indices('/').map(|(at, _)| at + 1);
        // Many slashes are no path anybody has.
        std::iter::once(0)
            .chain(behind_slashes.take(64))
            .any(|from| self.matches(&path[from..]))
    }

    /// Walks all places of the pattern at once, so that no path takes more than its length times the pattern's.
    fn matches(&self, path: &str) -> bool {
        let n_parts = self.parts.len();
        let mut places = vec![false; n_parts + 1];
        places[0] = true;
        self.skip_any(&mut places);
        for character in path.chars() {
            let mut next = vec![false; n_parts + 1];
            for (at, part) in self.parts.iter().enumerate() {
                if !places[at] {
                    continue;
                }
                match *part {
                    Part::One(wanted) => next[at + 1] |= wanted == character,
                    Part::AnyOne => next[at + 1] |= character != '/',
                    Part::AnyName => next[at] |= character != '/',
                    Part::AnyPath => next[at] = true,
                }
            }
            self.skip_any(&mut next);
            places = next;
        }
        places[n_parts]
    }

    /// What stands for any characters stands for none as well.
    fn skip_any(&self, places: &mut [bool]) {
        for (at, part) in self.parts.iter().enumerate() {
            if places[at] && matches!(part, Part::AnyName | Part::AnyPath) {
                places[at + 1] = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn paths_are_found_by_name_by_folder_and_by_wildcard() {
        for (glob, path, is_of) in [
            ("lib.rs", "/home/a/src/lib.rs", true),
            ("src/**", "/home/a/src/deep/er/lib.rs", true),
            ("src/*", "/home/a/src/deep/er/lib.rs", false),
            ("src/*", "src/lib.rs", true),
            ("*.rs", "/home/a/src/lib.rs", true),
            ("*.rs", "/home/a/src/lib.rs.bak", false),
            ("src/**/*.md", "src/a/b.md", true),
            ("readme.md", "README.md", true),
            ("README*", "readme.md", false),
            ("?.c", "src/a.c", true),
            ("?.c", "src/ab.c", false),
            ("src/**", "C:\\x\\src\\a.rs", true),
            ("src\\main.rs", "C:\\x\\src\\main.rs", true),
            ("src\\*.rs", "/home/a/src/lib.rs", true),
        ] {
            assert_eq!(Glob::new(glob).is_of(path), is_of, "{glob} {path}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_its_length_times_the_paths() {
        let glob = Glob::new(&"*a".repeat(200));
        assert!(!glob.is_of(&"a".repeat(4_000).replace("aaaa", "aaa/")));
    }
}

//! Where things stand in the list: heads to step by, the file and the hunk of an item, the line that is sought.

use super::{DiffList, Item, Side};

impl DiffList {
    /// Places of the heads of hunks, or of files, among the items.
    pub fn heads(&self, of_files: bool) -> impl DoubleEndedIterator<Item = usize> {
        let items = self.items.iter().enumerate();
        items
            .filter(move |(_, item)| match item {
                Item::File(_) => of_files,
                Item::Hunk(..) => !of_files,
                // A folded hunk is passed by as one.
                Item::Folded(_) => !of_files,
                Item::Line(..) | Item::Note(_) | Item::Mode(_) | Item::End(_) => false,
            })
            .map(|(at, _)| at)
    }

    /// The file that an item belongs to.
    pub fn file_of(&self, item: usize) -> Option<u32> {
        self.items.get(item).map(|item| match item {
            Item::File(file) | Item::Folded(file) | Item::Note(file) | Item::End(file) => *file,
            Item::Mode(file) | Item::Hunk(file, _) | Item::Line(file, ..) => *file,
        })
    }

    /// The hunk, or the file's own line, that an item belongs to.
    pub fn hunk_at(&self, item: usize) -> Option<Item> {
        self.items.get(item).map(|item| match *item {
            Item::Line(file, hunk, ..) => Item::Hunk(file, hunk),
            Item::File(_)
            | Item::Hunk(..)
            | Item::Folded(_)
            | Item::Note(_)
            | Item::Mode(_)
            | Item::End(_) => *item,
        })
    }

    /// Where an item stands.
    pub fn place_of(&self, item: Item) -> Option<usize> {
        self.items.iter().position(|of_list| *of_list == item)
    }

    /// Where the first line stands that is `wanted`; a file that hides it is shown.
    pub fn seek(&mut self, wanted: &dyn Fn(&str) -> bool) -> Option<usize> {
        let (mut file, mut at) = (0, 0);
        let found = loop {
            let lines = self.patch.files.get(file)?.hunks.get(at);
            let Some(hunk) = lines else {
                (file, at) = (file + 1, 0);
                continue;
            };
            let is_wanted =
                |line: &chat_diff::PatchLine| self.text.get(line.range.clone()).is_some_and(wanted);
            let line = hunk.lines.iter().position(is_wanted);
            if let Some(line) = line.filter(|_| self.has_changes(hunk)) {
                break (file, at, line);
            }
            at += 1;
        };
        let (file, hunk, line) = found;
        if self.folds.get_mut(file).and_then(Option::take).is_some() {
            self.arrange();
        }
        // Counted like the lines of a text.
        #[allow(clippy::cast_possible_truncation)]
        let (file, hunk, line) = (file as u32, hunk as u32, line as u32);
        let has_line = |item: &Item| match *item {
            Item::Line(of_file, of_hunk, row, side) if (of_file, of_hunk) == (file, hunk) => {
                let [old, new] = self.sides(file, hunk, row);
                let has = |is: Option<(bool, u32)>| is.is_some_and(|(_, at)| at == line);
                side != Side::New && has(old) || side != Side::Old && has(new)
            }
            _ => false,
        };
        self.items.iter().position(has_line)
    }

    /// Hunks that have lines in a chunk.
    pub fn hunks_of(&self, chunk: usize) -> Vec<(u32, u32)> {
        let mut hunks: Vec<(u32, u32)> = self.items[self.chunk(chunk)]
            .iter()
            .filter_map(|item| match item {
                Item::Line(file, hunk, ..) => Some((*file, *hunk)),
                Item::File(_)
                | Item::Hunk(..)
                | Item::Folded(_)
                | Item::Note(_)
                | Item::Mode(_)
                | Item::End(_) => None,
            })
            .collect();
        hunks.dedup();
        hunks
    }
}

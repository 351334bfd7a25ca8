//! What stands in an agent's file from before comes before what its program says now.

use std::time::Duration;

use chat_normalize::Dialect;

use super::{Sources, are_kin, notes};
use crate::spool::is_held;

/// The file that who follows the agents' files holds, beside the spools.
pub(crate) const FOLLOWING: &str = "following.lock";

/// Between two looks, and how many there are: who follows looks for new files once a second.
const LOOK: Duration = Duration::from_millis(50);
const MOST_LOOKS: u32 = 40;

/// What who follows reads.
const FOLLOWED: [Dialect; 6] = [
    Dialect::ClaudeTranscript,
    Dialect::CodexRollout,
    Dialect::GeminiChat,
    Dialect::Kimi,
    Dialect::OpenCodeEvents,
    Dialect::PiSession,
];

impl Sources {
    /// Lets who follows the agents' files tell first of a session of which nobody told yet, where somebody does: one that is
    /// taken up again, or is another's copy, has all that was before in its file, and a log has it where it is told.
    pub(crate) fn let_file_begin(&self, session_id: &str, rest: &mut dyn FnMut(Duration)) {
        let Some((dialect, folder)) = self.noted() else {
            return;
        };
        // Of no other program a file is followed.
        let may_be_followed = FOLLOWED.iter().any(|file| are_kin(*file, dialect));
        let is_a_file = FOLLOWED.contains(&dialect) && dialect != Dialect::OpenCodeEvents;
        if is_a_file || !may_be_followed {
            return;
        }
        let mark = folder.join(FOLLOWING);
        for _ in 0..MOST_LOOKS {
            let told = notes::peek(folder, session_id);
            let tells = told.values().any(|note| note.spool == FOLLOWING)
                && notes::are_held(folder, session_id);
            let may_tell = told.is_empty() && is_held(&mark);
            if !(tells || may_tell) {
                return;
            }
            rest(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::sources::Entered;

    #[test]
    fn what_is_in_a_file_is_told_before_what_its_program_says_now() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join(FOLLOWING);
        let follows = File::create(&mark).unwrap();
        let file = Sources::of_files(&mark, Dialect::ClaudeTranscript);
        let pipe = Sources::of_files(&dir.path().join("pipe"), Dialect::ClaudeStream);
        let mut n_rests = 0;
        // Nobody follows, or what is piped is the file.
        pipe.let_file_begin("s1", &mut |_| n_rests += 1);
        follows.try_lock().unwrap();
        file.let_file_begin("s1", &mut |_| n_rests += 1);
        // Nobody follows what this program writes.
        let other = Sources::of_files(&dir.path().join("other"), Dialect::CursorStream);
        other.let_file_begin("s1", &mut |_| n_rests += 1);
        assert_eq!(n_rests, 0);
        // It tells for a while.
        let mut turn = None;
        pipe.let_file_begin("s1", &mut |_| {
            n_rests += 1;
            match n_rests {
                3 => turn = Some(file.enter("s1").unwrap()),
                6 => drop(turn.take()),
                _ => {}
            }
        });
        assert_eq!(n_rests, 6);
        let Entered::Turn(entered) = pipe.enter("s1").unwrap() else {
            panic!("others can tell the same");
        };
        assert!(!entered.is_alone());
        drop(entered);
        // It was told of before.
        pipe.let_file_begin("s1", &mut |_| n_rests += 1);
        assert_eq!(n_rests, 6);
        // Its file is nowhere where it would be seen.
        pipe.let_file_begin("s2", &mut |_| n_rests += 1);
        assert_eq!(n_rests, 6 + MOST_LOOKS);
    }
}

//! Where a session began, by all that is told of it: a source that does not say it is read by a program that knows where it
//! runs itself, and takes the agent to run there, too.

use crate::payload::SessionStart;

impl SessionStart {
    /// The field of a `session_start` whose `cwd` was not said: `true`.
    pub const CWD_GUESSED: &'static str = "cwdGuessed";

    /// Whether the working directory was not said, but is where the program runs that read the source.
    pub fn is_cwd_guessed(&self) -> bool {
        self.extra.get(Self::CWD_GUESSED).is_some()
    }

    /// Whether this tells where the session began, beside what is known of that. What was told first is kept, for the agent
    /// may go elsewhere; but a guess gives way to what is told. `is_guess` says of what is known whether it is one, and is kept
    /// up to date.
    ///
    /// ```
    /// use chat_event::{Extra, Json, payload::SessionStart};
    /// let of = |cwd: &str| SessionStart { cwd: Some(cwd.to_owned()), ..SessionStart::default() };
    /// let mut guess = of("/elsewhere");
    /// guess.extra.insert(SessionStart::CWD_GUESSED, Json::from(&serde_json::json!(true)));
    /// let (mut cwd, mut is_guess) = (None, false);
    /// for start in [guess.clone(), of("/w"), of("/w/below"), guess] {
    ///     if start.tells_cwd(cwd.as_deref(), &mut is_guess) {
    ///         cwd = start.cwd;
    ///     }
    /// }
    /// assert_eq!((cwd.as_deref(), is_guess), (Some("/w"), false));
    /// ```
    pub fn tells_cwd(&self, known: Option<&str>, is_guess: &mut bool) -> bool {
        let guesses = self.is_cwd_guessed();
        let tells = self.cwd.is_some() && (known.is_none() || (*is_guess && !guesses));
        if tells {
            *is_guess = guesses;
        }
        tells
    }
}

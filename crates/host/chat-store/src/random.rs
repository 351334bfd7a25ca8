//! Random names and tokens.

use base64::Engine;

use crate::Error;

/// `N` random bytes as base64url without padding.
///
/// # Errors
///
/// Where the system has no random bytes to give.
pub fn random_base64url<const N: usize>() -> Result<String, Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|why| Error::Degraded {
        why: format!("no random bytes: {why}"),
    })?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

/// A token nobody guesses: 256 random bits as base64url, with a letter or digit at either end. With a dash before it the
/// command line takes it for an option, and what makes links of addresses leaves out a dash or underscore behind it.
///
/// # Errors
///
/// Where the system has no random bytes to give.
pub fn new_token() -> Result<String, Error> {
    loop {
        let token = random_base64url::<32>()?;
        let is_mark = |mark: char| !mark.is_ascii_alphanumeric();
        if !token.starts_with(is_mark) && !token.ends_with(is_mark) {
            return Ok(token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dash or underscore stands at either end of one of 16 that are drawn: these would tell.
    #[test]
    fn a_token_is_a_word_of_the_command_line_and_of_an_address() {
        for _ in 0..1000 {
            let token = new_token().unwrap();
            assert_eq!(token.len(), 43);
            let ends = [token.as_bytes()[0], token.as_bytes()[42]];
            assert!(ends.iter().all(u8::is_ascii_alphanumeric), "{token}");
        }
    }
}

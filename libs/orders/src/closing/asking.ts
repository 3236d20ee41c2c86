// How providers are asked about orders behind the fence, and about those of close targets.

/** So many orders at once. */
export const ASKED_AT_ONCE = 10;
/** About five minutes of asking: by then it is no hiccup, and an operator should know. */
export const ALERT_AT_ATTEMPT = 10;

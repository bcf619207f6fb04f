/** Ids that the gateway makes, wherever they stand in a text. */
const OWN_ID = /\b(?:req|job|resp|batch)_[0-9a-f]{16,64}\b/;
/** Ids that callers may choose. */
const CHOSEN_ID = /^[A-Za-z0-9._:-]{8,128}$/;
const DIGIT = /\d/;

/** The id of a request in what a person pasted: the id alone, or the error of a client around it; undefined: there is none. */
export function requestIdIn(text: string): string | undefined {
  const [own] = OWN_ID.exec(text) ?? [];
  if (own !== undefined) return own;
  const trimmed = text.trim();
  return CHOSEN_ID.test(trimmed) && DIGIT.test(trimmed) ? trimmed : undefined;
}

import { GatewayError } from '@gateway/contracts/gateway-error';

/**
 * OpenAI's words for content of another organisation, Anthropic's for a signature that is not its own, and Google's for one
 * of a thought.
 */
const NOT_ITS_OWN =
  /encrypted content\b.*\bcould not be (?:verified|decrypted)|invalid_encrypted_content|invalid [`'"]?signature[`'"]? in [`'"]?thinking|(?:invalid|corrupted|not valid)\b.{0,20}\bthought[_ ]?signature|thought[_ ]?signature\b.{0,40}\b(?:invalid|not valid|corrupted|could not be)/is;

/** Whether a provider refused a request because of reasoning that it did not seal itself, or not under this key. */
export const refusesThoughts = (refusal: unknown): boolean =>
  refusal instanceof GatewayError &&
  refusal.code === 'upstream_rejected' &&
  NOT_ITS_OWN.test(`${refusal.message} ${refusal.options.relay?.body ?? ''}`);

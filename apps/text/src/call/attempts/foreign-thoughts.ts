import { GatewayError } from '@gateway/contracts/gateway-error';

/** Providers' words for reasoning that is not theirs, or no longer. */
const NOT_ITS_OWN: readonly RegExp[] = [
  // OpenAI and Azure: content of another organisation, or sealed under another key; an item that it does not have.
  /encrypted[ _]content\b.*\b(?:could not be (?:verified|decrypted|parsed)|did not match)|invalid_encrypted_content/is,
  /\b(?:failed|unable|not able) to (?:decrypt|verify|parse)\b.*\bencrypted[ _]content/is,
  /\bitem (?:with id )?[`'"]?rs_[\w-]+[`'"]? (?:not found|of type [`'"]?reasoning[`'"]? was provided without)/i,
  // Anthropic, Bedrock, Vertex AI.
  /invalid [`'"]?(?:signature|data)[`'"]? in [`'"]?(?:redacted_)?thinking|\bthinking\.signature: field required/i,
  /[`'"]?(?:redacted_)?thinking[`'"]? blocks in the latest assistant message cannot be modified/i,
  // Google.
  /(?:invalid|corrupted|not valid)\b.{0,20}\bthought[_ ]?signature/is,
  /thought[_ ]?signature\b.{0,40}\b(?:invalid|not valid|corrupted|could not be)/is,
];

const REFUSALS: ReadonlySet<string> = new Set(['upstream_rejected', 'object_not_found']);

/** Whether a provider refused a request because of reasoning that it did not seal itself, or not under this key. */
export function refusesThoughts(refusal: unknown): boolean {
  if (!(refusal instanceof GatewayError) || !REFUSALS.has(refusal.code)) return false;
  const words = `${refusal.message} ${refusal.options.relay?.body ?? ''}`;
  return NOT_ITS_OWN.some((pattern) => pattern.test(words));
}

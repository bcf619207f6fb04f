/**
 * Names by which clouds take credentials in an address: AWS' signed ones, Google's keys and tokens, Azure's keys. A caller's would
 * stand beside the account's own, and what the provider then refuses would count as the account's.
 */
const OF_CREDENTIALS = /^(?:x-amz-.*|access_token|oauth_token|key|api[-_]?key|subscription-key)$/i;

/**
 * What of a caller's query goes to a provider, as the caller wrote it.
 *
 * @param isSigned every pair is written in one way and names of other signs are left out, so that the provider reads nothing else
 *   than what was signed
 */
export function callerQuery(query: string, isSigned: boolean): string {
  const kept = query.split('&').filter((pair) => {
    const [[name] = ['']] = new URLSearchParams(pair);
    return !OF_CREDENTIALS.test(name);
  });
  return (isSigned ? kept.flatMap(encoded) : kept).join('&');
}

/** Sorted alike by everybody, and never encoded. */
const PLAIN = /^\w+$/;

const encoded = (pair: string): string[] =>
  [...new URLSearchParams(pair)].flatMap(([name, value]) =>
    PLAIN.test(name) ? `${name}=${encodeURIComponent(value)}` : [],
  );

import { isLarge } from '../large/shared-bytes.ts';

/** The ids of calls in JSON that is not parsed. Inside a text the quotes are escaped, so that they do not match. */
const IDS = /"(?:id|call_id|tool_call_id|tool_use_id)"\s*:\s*"([^"\\]+)"/g;

/** Looks that search the whole request, as almost every answer needs no more. What needs more has the ids collected once. */
const MAX_SEARCHES = 4;

export type KnownIds = Pick<ReadonlySet<string>, 'has'>;

export const idsIn = (sent: string): ReadonlySet<string> => {
  const ids = new Set<string>();
  for (const [, id = ''] of sent.matchAll(IDS)) ids.add(id);
  return ids;
};

/** Which ids a request has: the calls of the conversation so far. */
export class SentIds {
  readonly #sent: Buffer | string;
  readonly #collect: ((sent: Buffer | string) => Promise<KnownIds>) | undefined;
  readonly #asked = new Map<string, boolean>();
  #known: KnownIds | null = null;
  #collecting: Promise<void> | null = null;

  /** @param collect does in the thread what `idsIn` does; absent where the caller is there already */
  constructor(sent: Buffer | string, collect?: (sent: Buffer | string) => Promise<KnownIds>) {
    this.#sent = sent;
    this.#collect = collect;
  }

  has(id: string): boolean {
    const asked = this.#asked.get(id);
    if (asked !== undefined) return asked;
    if (this.#known === null && this.#asked.size < MAX_SEARCHES) {
      // Node ends the process where bytes are searched for half a surrogate pair.
      const isThere = this.#sent.includes(`"${id.toWellFormed()}"`);
      this.#asked.set(id, isThere);
      return isThere;
    }
    this.#known ??= idsIn(this.#sent.toString());
    return this.#known.has(id);
  }

  /** Whether it has this text anywhere. */
  includes(text: string): boolean {
    return this.#sent.includes(text);
  }

  /** What has to end before these ids are looked up; null where they can be at once. */
  due(ids: readonly string[]): Promise<void> | null {
    const collect = this.#collect;
    if (ids.length === 0 || this.#known !== null || collect === undefined) return null;
    if (this.#collecting !== null) return this.#collecting;
    const others = new Set(ids.filter((id) => !this.#asked.has(id)));
    if (!isLarge(this.#sent.length) || this.#asked.size + others.size <= MAX_SEARCHES) return null;
    this.#collecting = collect(this.#sent)
      // Where they cannot be known it may have any.
      .catch(() => ({ has: () => true }))
      .then((known) => {
        this.#known = known;
      });
    return this.#collecting;
  }
}

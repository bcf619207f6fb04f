import type { Untranslatable } from '../../../neutral/conversation.ts';
import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import type { Path } from '../../../wire/path.ts';
import type { Block } from './documents.ts';

/** As many as one request may have. */
const MAX_POINTS = 4;

/** A mark of the caller's: what comes before it is kept in the model's cache. */
type Mark = Untranslatable & { readonly cacheMark: NonNullable<Untranslatable['cacheMark']> };

const isMark = (member: Untranslatable): member is Mark => member.cacheMark !== undefined;

/** The caller's cache marks, each of which becomes one point after the block that it stands in. */
export class CachePoints {
  readonly #encoder: Encoder;
  /** Those that no point stands for yet. */
  readonly #marks: Set<Mark>;
  /** All of them by each path that they stand in. */
  readonly #byPlace = new Map<string, Mark[]>();
  #count = 0;
  /** What the caller's protocol has besides, and this one has not. */
  readonly others: readonly Untranslatable[];

  constructor(encoder: Encoder) {
    this.#encoder = encoder;
    const { untranslatable } = encoder.conversation;
    this.#marks = new Set(untranslatable.filter(isMark));
    for (const mark of this.#marks)
      for (let length = 0; length < mark.path.length; length += 1) {
        const place = keyOf(mark.path.slice(0, length));
        const others = this.#byPlace.get(place);
        if (others === undefined) this.#byPlace.set(place, [mark]);
        else others.push(mark);
      }
    this.others = untranslatable.filter((member) => !isMark(member));
  }

  /** The point after what the caller wrote at this path; none where it has no mark, or this model takes none there. */
  after(at: Path | undefined, place: 'system' | 'tools' | 'messages'): Block[] {
    if (this.#marks.size === 0 || at === undefined) return [];
    const marks = (this.#byPlace.get(keyOf(at)) ?? []).filter((one) => this.#marks.delete(one));
    const [mark] = marks;
    if (mark === undefined) return [];
    const { target, losses } = this.#encoder;
    if (!target.quirks.cachePoints.includes(place) || this.#count === MAX_POINTS) {
      losses.drop(mark.path, 'this model takes no more cache points there');
      return [];
    }
    this.#count += 1;
    return [{ cachePoint: { type: 'default', ...(mark.cacheMark === '1h' && { ttl: '1h' }) } }];
  }

  /** Reports the marks that stand in nothing that is sent. */
  reportRest(): void {
    for (const { path, reason } of this.#marks) this.#encoder.losses.drop(path, reason);
  }
}

const keyOf = (path: Path): string => JSON.stringify(path);

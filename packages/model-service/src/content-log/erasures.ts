import { randomBytes } from 'node:crypto';
import { ContentRecord } from '@gateway/contracts/content-log';
import { z } from 'zod';
import type { ContentStores } from './content-store.ts';

const NAME_BYTES = 12;
/** As far as clocks of two machines may be apart. */
const CLOCK_SKEW_MS = 5_000;

/** What was deleted: lines by their objects and ids, or all lines of a key or an end user up to a time in Unix milliseconds. */
const Erasure = z.union([
  z.strictObject({ ids: z.record(z.string(), z.array(z.string()).readonly()) }),
  z.strictObject({ keyId: z.string(), untilMs: z.int() }),
  z.strictObject({ endUser: z.string(), untilMs: z.int() }),
]);
export type Erasure = z.infer<typeof Erasure>;

/** Whether a line of this object was deleted. */
export type IsErased = (object: string, line: string) => boolean;

/**
 * What was deleted from the content log is noted in its store, so that it stays deleted: a line may still be on its way there, or be
 * in an object that another process writes. Each deletion is noted before anything is read for it, and whoever has written an object
 * reads the notes after that, and writes again where one of them means a line of it.
 */
export interface Erasures {
  note(erasure: Erasure): Promise<void>;
  read(): Promise<IsErased>;
}

export function createErasures(openStores: () => Promise<Pick<ContentStores, 'erasures'>>): Erasures {
  /** A note is never written again. */
  let known: ReadonlyMap<string, Erasure> = new Map();
  return {
    note: async (erasure) => {
      const id = `${randomBytes(NAME_BYTES).toString('hex')}.json`;
      await (await openStores()).erasures.put(id, Buffer.from(JSON.stringify(erasure)));
    },
    read: async () => {
      const store = (await openStores()).erasures;
      const found = new Map<string, Erasure>();
      for await (const { id } of store.list()) {
        const erasure = known.get(id) ?? (await readNote(store, id));
        if (erasure !== null) found.set(id, erasure);
      }
      known = found;
      return toIsErased([...found.values()]);
    },
  };
}

/** Null for one that has expired meanwhile. */
async function readNote(store: ContentStores['erasures'], id: string): Promise<Erasure | null> {
  const asset = await store.open(id);
  return asset === undefined ? null : Erasure.parse(JSON.parse((await asset.bytes()).toString()));
}

function toIsErased(erasures: readonly Erasure[]): IsErased {
  const lines = new Map<string, Set<string>>();
  /** By the member as a line has it, so that few lines have to be parsed: a text within one has its quotes escaped. */
  const owners = new Map<string, { name: 'keyId' | 'endUser'; value: string; untilMs: number }>();
  const addOwner = (name: 'keyId' | 'endUser', value: string, untilMs: number) => {
    const member = `"${name}":${JSON.stringify(value)}`;
    if ((owners.get(member)?.untilMs ?? 0) < untilMs) owners.set(member, { name, value, untilMs });
  };
  for (const erasure of erasures) {
    if ('ids' in erasure) {
      for (const [object, ids] of Object.entries(erasure.ids))
        lines.set(object, new Set([...(lines.get(object) ?? []), ...ids]));
    } else if ('keyId' in erasure) addOwner('keyId', erasure.keyId, erasure.untilMs);
    else addOwner('endUser', erasure.endUser, erasure.untilMs);
  }
  return (object, line) => {
    const named = lines.get(object);
    const head = headOf(line);
    const meant = [...owners].flatMap(([member, owner]) => (head.includes(member) ? [owner] : []));
    if (line === '' || (named === undefined && meant.length === 0)) return false;
    const facts = Facts.safeParse(parsed(line)).data;
    if (facts === undefined) return false;
    return (
      named?.has(facts.id) === true ||
      meant.some(
        ({ name, value, untilMs }) =>
          facts[name] === value && Date.parse(facts.at) <= untilMs + CLOCK_SKEW_MS,
      )
    );
  };
}

/** What a line says before its content, which is long: with many deletions that would be searched often. */
function headOf(line: string): string {
  const content = line.indexOf('"request":');
  return content < 0 ? line : line.slice(0, content);
}

const Facts = ContentRecord.pick({ id: true, at: true, keyId: true, endUser: true });

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

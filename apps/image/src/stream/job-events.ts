import type { AssetStore } from '@gateway/assets/asset-store';
import type { ImageOutput } from '@gateway/contracts/jobs';
import type { ExpandEvent } from '@gateway/model-service/jobs/job-events';
import { z } from 'zod';
import { encodeAsset } from '../files/base64.ts';

/** An event as a job emits it: its image is a stored asset, since it would be too large for Redis. */
const StoredEvent = z.object({
  type: z.string(),
  /** Its data before and after the image. */
  head: z.string(),
  tail: z.string(),
  /** Null for an event without an image, whose data is all in `head`. */
  assetId: z.string().nullable(),
});
type StoredEvent = z.infer<typeof StoredEvent>;

interface MembersOfEvent {
  readonly type: string;
  readonly members: Readonly<Record<string, unknown>>;
  readonly assetId: string;
}

const eventOf = ({ type, members, assetId }: MembersOfEvent): StoredEvent => ({
  type,
  head: `${JSON.stringify({ type, ...members }).slice(0, -1)},"b64_json":"`,
  tail: '"}',
  assetId,
});

/** Events of workers of November 2026 have only their members. A running job outlives a deploy; remove this in 2027. */
const EmittedEvent = StoredEvent.or(
  z
    .object({ type: z.string(), members: z.record(z.string(), z.unknown()), assetId: z.string() })
    .transform(eventOf),
);

/** As many characters of an event as go through Redis. */
const MAX_CHARACTERS = 60_000;
const IMAGE = /"b64_json"\s*:\s*"/;
const EVENT_TYPE = /^[\w.-]+$/;

interface SentEvent {
  readonly type: string;
  /** As the upstream sent it: JSON. */
  readonly data: string;
  /** Its image as it stands there, and where that is stored; null for an event without one. */
  readonly image: { readonly base64: string; readonly assetId: string } | null;
}

/** The text that a job emits for an event of its upstream. The caller gets its data as it came; members beside the image that are too long are left out. */
export function storedEvent({ type, data, image }: SentEvent): string {
  const name = EVENT_TYPE.test(type) ? type : 'message';
  if (image === null) return textOf({ type: name, head: data, tail: '', assetId: null });
  const { base64, assetId } = image;
  const found = IMAGE.exec(data);
  const start = found === null ? 0 : found.index + found[0].length;
  const end = start + base64.length;
  const isThere = found !== null && data.startsWith(base64, start);
  const isShort = data.length - base64.length <= MAX_CHARACTERS;
  if (!isThere || !isShort) return textOf(eventOf({ type: name, members: {}, assetId }));
  return textOf({ type: name, head: data.slice(0, start), tail: data.slice(end), assetId });
}

const textOf = (event: StoredEvent): string => `data: ${JSON.stringify(event)}\n\n`;

/** The data may hold U+2028 and U+2029, which `.` does not match. */
const DATA = /^data: ?([^\n]*)/m;

/** The event with its image in base64, as the protocol has it, but for the empty line at its end. */
export const expandEvent = ({ assets }: { readonly assets: Pick<AssetStore, 'open'> }): ExpandEvent =>
  async function* (frame) {
    const { type, head, tail, assetId } = EmittedEvent.parse(JSON.parse(DATA.exec(frame)?.[1] ?? ''));
    yield `event: ${type}\ndata: ${head}`;
    if (assetId !== null) yield* encodeAsset(assets, assetId);
    yield `${tail}\n`;
  };

/** The last events of a job whose own ones have gone. What was reported of all images together is in the last of them. */
export const completedEvents = (
  kind: 'image.generation' | 'image.edit',
  { images, created, members }: Pick<ImageOutput, 'images' | 'created' | 'members'>,
): string[] =>
  images.map((image, index) =>
    textOf(
      eventOf({
        type: `${kind.replace('.', '_')}.completed`,
        members: { ...image.members, created_at: created, ...(index === images.length - 1 && members) },
        assetId: image.assetId,
      }),
    ),
  );

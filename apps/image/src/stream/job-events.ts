import type { AssetStore } from '@gateway/assets/asset-store';
import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { ImageOutput } from '@gateway/contracts/jobs';
import type { ExpandEvent } from '@gateway/model-service/jobs/job-events';
import { z } from 'zod';
import { encodeAsset } from '../files/base64.ts';

/** An image event as a job emits it: its image is a stored asset, since it would be too large for a queue. */
const StoredEvent = z.object({
  type: z.string(),
  members: z.record(z.string(), z.unknown()),
  assetId: z.string(),
});
type StoredEvent = z.infer<typeof StoredEvent>;

/** As many characters as a queue carries at once, less what surrounds them. */
const MAX_MEMBERS_CHARACTERS = 60_000;

/** The text that a job emits for an event. Members beside the image that are too long are left out. */
export function storedEvent({ type, members, assetId }: StoredEvent): string {
  const isShort = JSON.stringify(members).length <= MAX_MEMBERS_CHARACTERS;
  return namedFrame({ type, members: isShort ? members : {}, assetId });
}

/** The data may hold U+2028 and U+2029, which `.` does not match. */
const DATA = /^data: ?([^\n]*)/m;

/** The event with its image in base64, as the protocol has it, but for the empty line at its end. */
export const expandEvent = ({ assets }: { readonly assets: Pick<AssetStore, 'open'> }): ExpandEvent =>
  async function* (frame) {
    const { type, members, assetId } = StoredEvent.parse(JSON.parse(DATA.exec(frame)?.[1] ?? ''));
    yield `event: ${type}\ndata: ${JSON.stringify({ type, ...members }).slice(0, -1)},"b64_json":"`;
    yield* encodeAsset(assets, assetId);
    yield '"}\n';
  };

/** The last events of a job whose own ones have gone. What was reported of all images together is in the last of them. */
export const completedEvents = (
  kind: 'image.generation' | 'image.edit',
  { images, created, members }: Pick<ImageOutput, 'images' | 'created' | 'members'>,
): string[] =>
  images.map((image, index) =>
    storedEvent({
      type: `${kind.replace('.', '_')}.completed`,
      members: { ...image.members, created_at: created, ...(index === images.length - 1 && members) },
      assetId: image.assetId,
    }),
  );

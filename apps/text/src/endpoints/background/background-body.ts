import { createReadStream } from 'node:fs';
import { writeWhole } from '@gateway/assets/write-whole';
import type { TextResponseInput } from '@gateway/contracts/jobs';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { ownInput } from '../../call/request/own-input.ts';
import { type OpenedCall, waitingFor } from '../../call/request/text-call.ts';
import type { LargeBody } from '../../call/request/text-request.ts';
import { inThread } from '../../large/in-thread.ts';
import type { MaybePromise } from '../../large/maybe-promise.ts';
import { bufferOf, gatherShared } from '../../large/shared-bytes.ts';
import { echoOf } from '../../protocols/responses/reply/response-object.ts';
import { inputItems } from '../../stored/response-record.ts';
import type { NewItem } from '../../stored/store/window-nodes.ts';
import { type JsonObject, objectOf } from '../../wire/json-object.ts';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';

/** The body of a request for a background response. */
export interface BackgroundBody {
  /** The members that its response repeats. */
  readonly echo: JsonObject;
  /** What its worker gets. */
  written(): string | Buffer;
  /** Its own input as items to store. */
  input(): MaybePromise<readonly NewItem[]>;
}

/** Reads the body of a call. A large one is read and written in the thread. */
export function backgroundBody(call: OpenedCall): MaybePromise<BackgroundBody> {
  const { request, history } = call;
  if (request.large !== null) return largeBody(call, request.large);
  const body = request.content.take();
  if (!isJsonObject(body)) throw new Error('a checked body that is no object');
  return {
    echo: echoOf(body),
    written: () => JSON.stringify(withoutBackground(body)),
    input: () => inputItems(body, history.items),
  };
}

/** A worker answers for a caller who reads a stream. */
export function withoutBackground({ background: _, ...body }: JsonObject): JsonObject {
  return { ...body, stream: true };
}

async function largeBody(call: OpenedCall, { bytes }: LargeBody): Promise<BackgroundBody> {
  const { echo, bytes: written } = await inThread('background', { bytes }, waitingFor(call));
  return {
    echo: objectOf(parseBody(echo)),
    written: () => bufferOf(written),
    input: () => ownInput(call),
  };
}

type JobBody = Pick<TextResponseInput, 'body' | 'bodyFile'>;

/** The body of a job as its input has it. Bytes become a file of the job's. @throws {GatewayError} `storage_full` */
export async function jobBody(written: string | Buffer, uploads: UploadStore): Promise<JobBody> {
  if (typeof written === 'string') return { body: written };
  const uploadId = uploads.newId();
  // Lost with the machine, it lets its job fail before anything has been paid.
  await writeWhole(uploads.pathOf(uploadId), written, { isDurable: false });
  return { body: '', bodyFile: { uploadId, sizeBytes: written.length } };
}

/** Removes the file of a body whose job is not queued. Never rejects; what is left is swept. */
export const discardBody = async (
  { bodyFile }: JobBody,
  uploads: Pick<UploadStore, 'delete'>,
): Promise<void> => {
  if (bodyFile !== undefined) await uploads.delete(bodyFile.uploadId).catch(() => undefined);
};

/** The same at its worker. */
export const bytesOfJob = (
  { body, bodyFile }: JobBody,
  uploads: Pick<UploadStore, 'pathOf'>,
): MaybePromise<Buffer> =>
  bodyFile === undefined
    ? Buffer.from(body)
    : gatherShared(bodyFile.sizeBytes, createReadStream(uploads.pathOf(bodyFile.uploadId)));

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { assetId } from '@gateway/assets/asset-id';
import type { AssetStore } from '@gateway/assets/asset-store';
import { writeWhole } from '@gateway/assets/write-whole';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import { withoutMark } from '@gateway/service-kit/request/json-body';
import { z } from 'zod';
import { below, checkLine, type LineAsker, type LineEndpoints, readLine } from './line-endpoint.ts';
import { linesIn } from './lines.ts';

const MEBIBYTE = 1024 * 1024;
/** The bounds of a batch. */
export const MAX_LINES = 10_000;
const MAX_LINE_BYTES = MEBIBYTE;
const MAX_BYTES = 128 * MEBIBYTE;
const MAX_MODELS_CHARACTERS = 200;

/** A batch that has been read and stored, and of which every line is right. */
export interface ReceivedBatch {
  readonly fileId: string;
  readonly lines: number;
  /** The models that it names, as one text. */
  readonly model: string;
  /** The same for the same lines. */
  readonly fingerprint: string;
}

interface ReceiveOptions {
  readonly uploads: UploadStore;
  readonly endpoints: LineEndpoints;
  readonly asker: LineAsker;
  readonly maxJsonDepth: number;
}

/**
 * Stores a request's lines as they come, each one once it has been checked. Nothing is left where one is wrong.
 *
 * @throws {GatewayError} for the first line that is wrong, with its number; for too many lines or bytes; `storage_full`
 */
export async function receiveBatch(
  request: IncomingMessage,
  { uploads, asker, ...reading }: ReceiveOptions,
): Promise<ReceivedBatch> {
  const fileId = uploads.newId();
  const hash = createHash('sha256');
  const customIds = new Set<string>();
  const models = new Set<string>();
  const check = async (bytes: Buffer) => {
    if (customIds.size === MAX_LINES) throw tooManyLines();
    const read = readLine(bytes, reading);
    await checkLine(read, asker);
    const { line } = read;
    if (customIds.has(line.custom_id)) throw repeatedId();
    customIds.add(line.custom_id);
    models.add(line.body.model);
  };
  const checked = async function* () {
    for await (const { number, bytes: sent } of linesIn(boundedBody(request, MAX_BYTES), MAX_LINE_BYTES)) {
      const bytes = withoutMark(sent);
      try {
        await check(bytes);
      } catch (error) {
        throw error instanceof GatewayError ? inLine(number, error) : error;
      }
      hash.update(bytes).update('\n');
      yield Buffer.concat([bytes, Buffer.from('\n')]);
    }
    if (customIds.size === 0)
      throw new GatewayError(
        'missing_required_parameter',
        'The body holds no lines. Send one JSON object on each line.',
      );
  };
  try {
    await writeWhole(uploads.pathOf(fileId), checked());
  } catch (error) {
    discardRest(request);
    throw error;
  }
  const model = [...models].join(', ').slice(0, MAX_MODELS_CHARACTERS);
  return { fileId, lines: customIds.size, model, fingerprint: hash.digest('base64url') };
}

/** The body's chunks. The request stays readable where its reader stops, so that its sender gets to read why. */
export async function* boundedBody(request: IncomingMessage, maxBytes: number): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes)
        throw new GatewayError(
          'request_too_large',
          `The request body is larger than the ${maxBytes} bytes that are accepted here. Send several batches.`,
        );
      yield chunk;
    }
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError('client_closed_request', {
      message: 'The connection closed before the request body was complete.',
      cause: error,
    });
  }
}

/** The stored lines, each with its index from 0, which names its job. */
export async function* storedLines(uploads: UploadStore, fileId: string) {
  let index = 0;
  for await (const { bytes } of linesIn(createReadStream(uploads.pathOf(fileId)), MAX_LINE_BYTES)) {
    yield { index, bytes };
    index += 1;
  }
}

const LINES = 'application/octet-stream';
/** The asset that keeps what a batch's lines are called, in their order. */
export const namesId = (batchId: string): string => assetId(batchId, 'lines', LINES);

const Named = z.object({ custom_id: z.string() });

/** Keeps the names of a batch's lines for longer than the lines themselves. */
export async function keepNames(
  { assets, uploads }: { readonly assets: Pick<AssetStore, 'put'>; readonly uploads: UploadStore },
  batchId: string,
  fileId: string,
): Promise<{ linesId: string; linesBytes: number }> {
  const names = async function* () {
    for await (const { bytes } of storedLines(uploads, fileId))
      yield Buffer.from(`${JSON.stringify(Named.parse(JSON.parse(bytes.toString())).custom_id)}\n`);
  };
  const { id, sizeBytes } = await assets.put(namesId(batchId), names());
  return { linesId: id, linesBytes: sizeBytes };
}

/** The kept names, in their order. */
export async function* namesIn(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const { bytes } of linesIn(chunks, MAX_LINE_BYTES))
    yield z.string().parse(JSON.parse(bytes.toString()));
}

/** The same error, about a line. */
export const inLine = (number: number, error: GatewayError): GatewayError => {
  const named = below([`line ${number}`], error);
  return new GatewayError(error.code, { ...named.options, message: `Line ${number}: ${error.message}` });
};

export const repeatedId = (): GatewayError =>
  new GatewayError('invalid_value', {
    path: ['custom_id'],
    message: "An earlier line has the same 'custom_id'. Give each line its own.",
  });

const tooManyLines = (): GatewayError =>
  new GatewayError(
    'array_above_max_length',
    `A batch may have at most ${MAX_LINES} lines. Send several batches.`,
  );

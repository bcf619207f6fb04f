import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { MessageBatchLine } from '@gateway/contracts/anthropic/message-batches';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { boundedBody } from '@gateway/model-service/batch/batch-file';
import { below } from '@gateway/model-service/batch/line-endpoint';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import { parseJson } from '@gateway/service-kit/request/json-body';
import { identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import { newFileId } from '../../batches/stored-files.ts';
import { listEntries } from '../../wire/list-entries.ts';
import type { FileService } from '../files/file-handlers.ts';
import { FRAME_BYTES } from './batch-lines.ts';
import type { TextBatchService } from './batch-service.ts';
import { memberIn } from './text-lines.ts';

const MAX_BYTES = 256 * 1024 * 1024;

/** The path that its lines name. */
export const MESSAGES_URL = '/v1/messages';

interface ReceivedMessages {
  readonly fileId: string;
  readonly lines: number;
  /** The models that it names, as one text. */
  readonly model: string;
  /** The same for the same requests. */
  readonly fingerprint: string;
}

const MAX_MODELS_CHARACTERS = 200;
/** A request is stored in a longer frame than the one that it comes in; nothing is stored that is too long to be read again. */
const SENT_FRAME_BYTES = FRAME_BYTES / 2;

/**
 * Stores the requests of a batch of messages as they come, each as a line of a file. Nothing is left where one is wrong.
 *
 * @throws {GatewayError} for the first one that is wrong, with its place; for too many requests or bytes; `storage_full`
 */
export async function receiveMessages(
  request: IncomingMessage,
  {
    files,
    services,
    maxLines,
    fileBytesPerKey,
    now,
  }: TextBatchService & Pick<FileService, 'fileBytesPerKey'>,
  keptUntilMs: number,
): Promise<ReceivedMessages> {
  const hash = createHash('sha256');
  const customIds = new Set<string>();
  let model = '';
  const models = new Set<string>();
  /** As many as are shown. */
  const name = (one: string) => {
    if (models.has(one) || model.length >= MAX_MODELS_CHARACTERS) return;
    models.add(one);
    model = [...models].join(', ').slice(0, MAX_MODELS_CHARACTERS);
  };
  const lineOf = (bytes: Buffer): Buffer => {
    if (customIds.size === maxLines) throw tooMany(maxLines);
    const { custom_id: customId, params } = validate(
      MessageBatchLine,
      parseJson(bytes, services.maxJsonDepth),
    );
    if (customIds.has(customId)) throw repeated();
    customIds.add(customId);
    name(params.model);
    const head = `{"custom_id":${JSON.stringify(customId)},"method":"POST","url":"${MESSAGES_URL}","body":`;
    return Buffer.concat([Buffer.from(head), onOneLine(memberIn(bytes, 'params')), Buffer.from('}\n')]);
  };
  const lines = async function* () {
    const chunks = boundedBody(request, MAX_BYTES);
    const maxEntryBytes = services.maxBodyBytes + SENT_FRAME_BYTES;
    for await (const entry of listEntries(chunks, { name: 'requests', maxEntryBytes })) {
      const at = customIds.size;
      try {
        const line = lineOf(entry);
        hash.update(line);
        yield line;
      } catch (error) {
        throw error instanceof GatewayError ? below(['requests', at], error) : error;
      }
    }
    if (customIds.size === 0) throw noRequests();
  };
  const createdAtMs = now();
  const id = newFileId();
  try {
    await files.put(
      {
        id,
        keyId: identityOf(request).keyId,
        filename: `${id}.jsonl`,
        purpose: 'batch',
        createdAtMs,
        expiresAtMs: keptUntilMs,
        isListed: false,
        maxKeyBytes: fileBytesPerKey,
      },
      lines(),
    );
  } catch (error) {
    discardRest(request);
    throw error;
  }
  return { fileId: id, lines: customIds.size, model, fingerprint: hash.digest('base64url') };
}

/** JSON without the line ends between its members. In its texts there are none. */
function onOneLine(json: Buffer): Buffer {
  const line = Buffer.from(json);
  for (const end of [0x0a, 0x0d])
    for (let at = line.indexOf(end); at >= 0; at = line.indexOf(end, at + 1)) line[at] = 0x20;
  return line;
}

const tooMany = (maxLines: number): GatewayError =>
  new GatewayError(
    'array_above_max_length',
    `A batch may have at most ${maxLines} requests. Send several batches.`,
  );

const repeated = (): GatewayError =>
  new GatewayError('invalid_value', {
    path: ['custom_id'],
    message: 'An earlier request has the same custom_id. Give each request its own.',
  });

const noRequests = (): GatewayError =>
  new GatewayError('array_below_min_length', {
    path: ['requests'],
    message: 'List should have at least 1 item.',
  });

import { createReadStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { FileListQuery } from '@gateway/contracts/openai/files';
import { readForm } from '@gateway/forms/read-form';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import { type Handler, type PathParams, parsedQuery, sendJson } from '@gateway/service-kit/request/handler';
import { refuseEncoding } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import {
  MAX_FILE_SECONDS,
  newFileId,
  type StoredFile,
  type StoredFiles,
} from '../../batches/stored-files.ts';
import { fileForm, fileRequest } from './file-form.ts';
import { fileObject } from './file-object.ts';

/** What it takes to keep files for callers. */
export interface FileService {
  readonly files: StoredFiles;
  /** Where a file lies on this machine while it arrives. */
  readonly uploads: Pick<UploadStore, 'newId' | 'pathOf' | 'delete'>;
  readonly fileMaxBytes: number;
  /** What the files of one key may take together. */
  readonly fileBytesPerKey: number;
  readonly now: () => number;
}

const DEFAULT_PAGE = 10_000;

/** `/v1/files`: a key finds its own files; any other id answers 404. */
export function fileHandlers(service: FileService): Readonly<Record<string, Handler>> {
  const { files, uploads, fileMaxBytes, fileBytesPerKey, now } = service;
  const rules = fileForm(fileMaxBytes);
  const find = async (request: IncomingMessage, params: PathParams): Promise<StoredFile> => {
    const id = String(params.id);
    contextOf(request).line.fileId = id;
    const found = await files.find(id, identityOf(request).keyId);
    if (found === undefined) throw fileNotFound(id);
    return found;
  };
  return {
    'POST /v1/files': async (request, response) => {
      const { line } = contextOf(request);
      const { keyId } = identityOf(request);
      try {
        refuseEncoding(request);
        await files.ensureRoom(keyId, fileBytesPerKey);
      } catch (error) {
        discardRest(request);
        throw error;
      }
      const form = await readForm(request, response, { rules, uploads, discardRest });
      const [received] = form.files;
      try {
        const { purpose, expires_after: expiry } = fileRequest(form.fields);
        if (received === undefined) throw noFile();
        const createdAtMs = now();
        const stored = await files.put(
          {
            id: newFileId(),
            keyId,
            filename: received.fileName,
            purpose,
            createdAtMs,
            expiresAtMs: createdAtMs + (expiry?.seconds ?? MAX_FILE_SECONDS) * 1000,
            isListed: true,
            maxKeyBytes: fileBytesPerKey,
          },
          createReadStream(uploads.pathOf(received.uploadId)),
        );
        Object.assign(line, { fileId: stored.id, fileBytes: stored.sizeBytes });
        send(response, request, fileObject(stored));
      } finally {
        await uploads.delete(...form.files.map(({ uploadId }) => uploadId));
      }
    },
    'GET /v1/files': async (request, response) => {
      const { limit = DEFAULT_PAGE, ...query } = validate(FileListQuery, parsedQuery(request));
      const page = await files.list(identityOf(request).keyId, { ...query, limit });
      if (page === undefined) throw unknownCursor('file');
      send(response, request, listOf(page.objects.map(fileObject), page.hasMore));
    },
    'GET /v1/files/{id}': async (request, response, params) =>
      send(response, request, fileObject(await find(request, params))),
    'DELETE /v1/files/{id}': async (request, response, params) => {
      const { id } = await find(request, params);
      await files.remove(id);
      send(response, request, { id, object: 'file', deleted: true });
    },
    'GET /v1/files/{id}/content': async (request, response, params) => {
      const { id, filename } = await find(request, params);
      const asset = await files.open(id);
      if (asset === undefined) throw fileNotFound(id);
      for (const [name, value] of Object.entries(headersFor(request))) response.setHeader(name, value);
      response.writeHead(200, {
        'content-type': 'application/jsonl',
        'content-length': asset.sizeBytes,
        'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(filename.toWellFormed())}`,
        'x-content-type-options': 'nosniff',
      });
      await pipeline(asset.stream(), response);
    },
  };
}

const headersFor = (request: IncomingMessage): Record<string, string> => {
  const { requestId } = contextOf(request);
  return { 'cache-control': 'no-store', 'x-request-id': requestId, 'request-id': requestId };
};

/** Answers with an object of the caller's. */
export function send(response: ServerResponse, request: IncomingMessage, body: unknown): void {
  for (const [name, value] of Object.entries(headersFor(request))) response.setHeader(name, value);
  sendJson(response, body);
}

/** A page of objects. */
export const listOf = (data: readonly { readonly id: string }[], hasMore: boolean) => ({
  object: 'list',
  data,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  has_more: hasMore,
});

export const fileNotFound = (id: string, path?: readonly string[]): GatewayError =>
  new GatewayError('object_not_found', {
    message: `You have no file '${id.slice(0, 64)}', or it has expired. GET /v1/files lists your files.`,
    ...(path && { path: [...path] }),
  });

export const unknownCursor = (what: string): GatewayError =>
  new GatewayError('invalid_value', {
    path: ['after'],
    message: `You no longer have a ${what} with this id. Start again without it.`,
  });

const noFile = (): GatewayError =>
  new GatewayError('missing_required_parameter', {
    path: ['file'],
    message: "The form has no file. Send it as 'file'.",
  });

import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { ConfigError } from '@gateway/contracts/config-error';
import { checkedId, contentTypeOf } from './asset-id.ts';
import type { Asset, AssetInfo, AssetSource, AssetStore, AssetStores } from './asset-store.ts';
import { toNetworkStorageError } from './storage-error.ts';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface S3Options {
  readonly bucket: string;
  /** Before all names; without a `/` at its end. Empty for none. */
  readonly prefix: string;
  /** Where an S3-compatible store listens. Absent: Amazon's, by the region. */
  readonly endpoint?: string | undefined;
  /** Where callers reach it. Absent: URLs at the store are not given out. */
  readonly publicEndpoint?: string | undefined;
  /** Absent: by the usual AWS variables and files. */
  readonly region?: string | undefined;
  readonly credentials?: S3Credentials;
}

/** Of an asset that is being stored, one part is held while another is sent. Stores take no smaller ones. */
const PART_BYTES = 5 * 1024 * 1024;
const PARTS_IN_FLIGHT = 1;
const CONNECT_MS = 5_000;
/** Without a byte in either direction. */
const IDLE_MS = 30_000;
const DELETES_IN_FLIGHT = 8;

/**
 * Keeps assets in a bucket of an S3-compatible store.
 *
 * @throws {ConfigError} when the bucket does not answer, or not to us
 */
export async function openS3Stores(options: S3Options): Promise<AssetStores> {
  const { bucket, prefix, endpoint, publicEndpoint } = options;
  const client = connect(options, endpoint);
  const publicClient = publicEndpoint === undefined ? undefined : connect(options, publicEndpoint);
  try {
    await client.send(new HeadBucketCommand({ Bucket: bucket }));
  } catch (cause) {
    client.destroy();
    const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    throw new ConfigError(
      `The bucket '${bucket}' of ASSETS_URL cannot be used (${reason}). Check ASSETS_URL, AWS_ENDPOINT_URL_S3, AWS_REGION and the credentials.`,
      { cause },
    );
  }
  return {
    open: async (name) =>
      storeOf({ client, publicClient, bucket, folder: prefix === '' ? `${name}/` : `${prefix}/${name}/` }),
    folderOf: () => undefined,
    close: () => {
      client.destroy();
      publicClient?.destroy();
    },
  };
}

function connect({ region, credentials }: S3Options, endpoint: string | undefined): S3Client {
  const config: S3ClientConfig = {
    // Checksums in trailers are Amazon's own: other stores refuse them.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: IDLE_MS, throwOnRequestTimeout: true },
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true, region: region ?? 'us-east-1' }),
    ...(region !== undefined && { region }),
    ...(credentials !== undefined && { credentials }),
  };
  return new S3Client(config);
}

interface StoreOptions {
  readonly client: S3Client;
  readonly publicClient: S3Client | undefined;
  readonly bucket: string;
  /** Before every id, with its `/`. */
  readonly folder: string;
}

function storeOf({ client, publicClient, bucket: Bucket, folder }: StoreOptions): AssetStore {
  const objectOf = (id: string) => ({ Bucket, Key: `${folder}${checkedId(id)}` });

  async function* list({ prefix = '' }: { prefix?: string } = {}): AsyncGenerator<AssetInfo> {
    const pages = paginateListObjectsV2({ client }, { Bucket, Prefix: `${folder}${prefix}` });
    try {
      for await (const { Contents = [] } of pages)
        for (const { Key = '', Size, LastModified, ETag } of Contents) {
          const info = toInfo(Key.slice(folder.length), { size: Size, LastModified, ETag });
          if (info !== undefined) yield info;
        }
    } catch (error) {
      throw toNetworkStorageError(error);
    }
  }

  const remove = (ids: readonly string[]) =>
    inTurns(ids, DELETES_IN_FLIGHT, (id) => answered(client.send(new DeleteObjectCommand(objectOf(id)))));

  /** Parts of assets whose writer died take space until they are removed. */
  const sweepParts = async (olderThanMs: number, prefix: string) => {
    let page: ListMultipartUploadsCommandOutput | undefined;
    do {
      const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page ?? {};
      const from = { Bucket, Prefix: `${folder}${prefix}`, KeyMarker, UploadIdMarker };
      page = await client.send(new ListMultipartUploadsCommand(from));
      for (const { Key, UploadId, Initiated } of page.Uploads ?? [])
        if (Initiated !== undefined && Initiated.getTime() < olderThanMs)
          await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    } while (page.IsTruncated);
  };

  return {
    put: async (id, source) => {
      const body = counted(source);
      const params = { ...objectOf(id), ContentType: contentTypeOf(id), Body: body.stream };
      const upload = new Upload({ client, params, partSize: PART_BYTES, queueSize: PARTS_IN_FLIGHT });
      try {
        await upload.done();
      } catch (error) {
        throw body.broken === undefined ? toNetworkStorageError(error) : body.broken.reason;
      }
      return { id, sizeBytes: body.sizeBytes };
    },
    putNew: async (id, bytes) => {
      const object = objectOf(id);
      // Test servers and old stores take the condition for granted.
      if ((await answered(client.send(new HeadObjectCommand(object)))) !== undefined) return false;
      const wanted = { ...object, ContentType: contentTypeOf(id), Body: bytes };
      try {
        await client.send(new PutObjectCommand({ ...wanted, IfNoneMatch: '*' }));
        return true;
      } catch (error) {
        if (error instanceof Error && TAKEN.has(error.name)) return false;
        throw toNetworkStorageError(error);
      }
    },
    head: async (id) => {
      if (contentTypeOf(id) === undefined) return undefined;
      const found = await answered(client.send(new HeadObjectCommand(objectOf(id))));
      return found && toInfo(id, { size: found.ContentLength, ...found });
    },
    open: async (id, range) => {
      if (contentTypeOf(id) === undefined) return undefined;
      const Range = range && `bytes=${range.start}-${range.end}`;
      const found = await answered(client.send(new GetObjectCommand({ ...objectOf(id), Range })));
      if (found === undefined) return undefined;
      const { Body, ContentLength, ContentRange } = found;
      const info = toInfo(id, { size: wholeSize(ContentRange) ?? ContentLength, ...found });
      if (info === undefined || !(Body instanceof Readable)) throw new Error('the store sent no bytes');
      return opened(info, Body);
    },
    delete: (...ids) => remove(ids),
    list,
    sweep: async (olderThanMs, { prefix = '' } = {}) => {
      const old: string[] = [];
      for await (const { id, storedAtMs } of list({ prefix })) if (storedAtMs < olderThanMs) old.push(id);
      await remove(old);
      await sweepParts(olderThanMs, prefix).catch((error: unknown) => {
        if (!(error instanceof Error && error.name === 'NotImplemented')) throw toNetworkStorageError(error);
      });
      return old.length;
    },
    urlOf: async (id, { expiresInSeconds, contentDisposition }) =>
      publicClient &&
      getSignedUrl(
        publicClient,
        new GetObjectCommand({
          ...objectOf(id),
          ResponseContentType: contentTypeOf(id),
          ResponseContentDisposition: contentDisposition,
        }),
        { expiresIn: expiresInSeconds },
      ),
  };
}

/** Takes a source's chunks as a stream, and remembers how many bytes they were and whether it was the source that broke. */
function counted(source: AssetSource) {
  const state: { sizeBytes: number; broken: { reason: unknown } | undefined } = {
    sizeBytes: 0,
    broken: undefined,
  };
  async function* chunks() {
    try {
      for await (const chunk of source instanceof Uint8Array ? [source] : source) {
        state.sizeBytes += chunk.length;
        yield chunk;
      }
    } catch (reason) {
      state.broken = { reason };
      throw reason;
    }
  }
  return Object.assign(state, { stream: Readable.from(chunks(), { objectMode: false }) });
}

function opened(info: AssetInfo, body: Readable): Asset {
  return {
    ...info,
    stream: () => body,
    bytes: async () => {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of body) chunks.push(chunk);
      } catch (error) {
        throw toNetworkStorageError(error);
      }
      return Buffer.concat(chunks);
    },
    close: async () => void body.destroy(),
  };
}

interface ObjectFacts {
  readonly size: number | undefined;
  readonly LastModified?: Date | undefined;
  readonly ETag?: string | undefined;
}

/** Undefined for objects that are none of ours. */
function toInfo(id: string, { size, LastModified, ETag }: ObjectFacts): AssetInfo | undefined {
  const contentType = contentTypeOf(id);
  if (contentType === undefined || size === undefined || LastModified === undefined || ETag === undefined)
    return undefined;
  return { id, contentType, sizeBytes: size, storedAtMs: LastModified.getTime(), etag: ETag };
}

/** From `bytes 0-9/100`. */
function wholeSize(contentRange: string | undefined): number | undefined {
  const [, size] = /\/(\d+)$/.exec(contentRange ?? '') ?? [];
  return size === undefined ? undefined : Number(size);
}

/** Somebody else has stored this id, or is about to. */
const TAKEN = new Set(['PreconditionFailed', 'ConditionalRequestConflict']);

const MISSING = new Set(['NoSuchKey', 'NotFound']);

/** The store's answer; undefined where there is no such object. */
async function answered<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && MISSING.has(error.name)) return undefined;
    throw toNetworkStorageError(error);
  }
}

/** Does something for each item, for a few at a time. */
async function inTurns<Item>(
  items: readonly Item[],
  atATime: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  const one = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: atATime }, one));
}

import { assetId } from '@gateway/assets/asset-id';
import type { AssetStore } from '@gateway/assets/asset-store';
import { GatewayError, SerializedError } from '@gateway/contracts/gateway-error';
import type { KeptAsset } from '../catalog.ts';
import { decodeFailure, encodeFailure } from '../job-failure.ts';
import type { UploadStore } from './upload-store.ts';

/**
 * Inputs and outputs of jobs lie in files; Redis holds their names. An input is deleted with its uploads
 * after its job has ended. An output is an asset, and is deleted with its images.
 */
export interface JobFiles {
  readonly uploads: UploadStore;
  readonly assets: Pick<AssetStore, 'put' | 'open' | 'delete'>;
}

const JSON_TYPE = 'application/json';

/** Keeps a job's input; resolves to its id. @throws {GatewayError} `storage_full` */
export async function storeInput({ uploads }: JobFiles, input: unknown): Promise<string> {
  return uploads.putInput(JSON.stringify(input));
}

/** @throws {GatewayError} `internal` when it is not there */
export async function readInput({ uploads }: JobFiles, inputId: string): Promise<unknown> {
  const text = await uploads.readInput(inputId);
  if (text === undefined) throw missing("The job's input cannot be found.");
  return JSON.parse(text);
}

/** Keeps a job's output. @throws {GatewayError} `storage_full` */
export async function storeOutput({ assets }: JobFiles, jobId: string, output: unknown): Promise<KeptAsset> {
  try {
    return await assets.put(outputId(jobId), Buffer.from(JSON.stringify(output)));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    // The work has been done: sending the request again would cost again.
    throw new GatewayError(error.code, { ...error.options, retry: false });
  }
}

/** What a job made, if it came as far as storing it. */
export async function readOutput({ assets }: Pick<JobFiles, 'assets'>, jobId: string): Promise<unknown> {
  return readJson(assets, outputId(jobId));
}

/** The output of a job that has ended well. @throws {GatewayError} `internal` when it is not there */
export async function outputOf(files: JobFiles, jobId: string): Promise<unknown> {
  const output = await readOutput(files, jobId).catch((cause: unknown) => {
    throw missing('The job was done, but its result cannot be read.', cause);
  });
  if (output === undefined) throw missing('The job was done, but its result cannot be found.');
  return output;
}

/** A reason that is longer than this lies in a file: a provider's error body may be of any length. */
const MAX_REASON_BYTES = 1024;

/** A failed job's reason, as Redis keeps it. */
export async function storeFailure(
  { assets }: JobFiles,
  jobId: string,
  error: GatewayError,
): Promise<string> {
  const reason = encodeFailure(error);
  if (Buffer.byteLength(reason) <= MAX_REASON_BYTES) return reason;
  try {
    await assets.put(failureId(jobId), Buffer.from(reason));
  } catch {
    // Without space for it, the caller gets the code at least.
    const { code, retry, source } = error;
    return encodeFailure(new GatewayError(code, { message: error.message.slice(0, 200), retry, source }));
  }
  // What decides about another attempt stays at hand.
  const { code, message, retry, source } = error;
  const head = new GatewayError(code, { message: message.slice(0, 200), retry, source });
  return `${STORED_FAILURE}${encodeFailure(head)}`;
}

const STORED_FAILURE = 'stored';

/** What Redis knows of a failed job's reason: its code and the begin of its message at least. */
export const storedFailure = (reason: string): GatewayError =>
  decodeFailure(reason.startsWith(STORED_FAILURE) ? reason.slice(STORED_FAILURE.length) : reason);

/** Why a job failed. */
export async function failureOf({ assets }: JobFiles, jobId: string, reason: string): Promise<GatewayError> {
  if (!reason.startsWith(STORED_FAILURE)) return decodeFailure(reason);
  try {
    return GatewayError.deserialize(SerializedError.parse(await readJson(assets, failureId(jobId))));
  } catch (cause) {
    return missing('The job failed, and the reason cannot be found.', cause);
  }
}

const outputId = (jobId: string): string => assetId(jobId, 'output', JSON_TYPE);
const failureId = (jobId: string): string => assetId(jobId, 'failure', JSON_TYPE);

async function readJson(assets: Pick<AssetStore, 'open'>, id: string): Promise<unknown> {
  const asset = await assets.open(id);
  return asset && JSON.parse((await asset.bytes()).toString());
}

/** Never to be repeated: the work may have been done and paid for. */
const missing = (what: string, cause?: unknown): GatewayError =>
  new GatewayError('internal', {
    message: `${what} Report the request id.`,
    retry: false,
    cause: new Error('Do the service and its workers have the same ASSETS_URL, or share GATEWAY_DATA_DIR?', {
      cause,
    }),
  });

import type { Environment } from '@gateway/contracts/environment';
import { OPERATION_NAMES, type Operation } from '../../protocol.ts';
import { type OperationPath, operationPath } from '../../requests/operation-path.ts';
import type { Channel } from '../configuration.ts';
import type { ChannelEntry } from '../file-schema.ts';
import { filled, type Words, wordsOf } from '../presets/place.ts';
import type { BatchPaths, Preset } from '../presets/preset.ts';

/** The values of a preset's placeholders for one channel. */
export const placeWords = (entry: ChannelEntry, preset: Preset): Words =>
  preset.settings === undefined ? {} : { ...wordsOf(entry), ...preset.words?.(entry) };

/** Where a channel is. */
export function buildPlace(
  entry: ChannelEntry,
  preset: Preset,
  env: Environment,
): Pick<Channel, 'origin' | 'paths' | 'modelList'> & { readonly batchPaths: BatchPaths | null } {
  const words = placeWords(entry, preset);
  const fromEnvironment = preset.baseUrlVariable ? env[preset.baseUrlVariable] : undefined;
  const url = new URL(entry.baseUrl ?? (fromEnvironment || filled(preset.baseUrl ?? '', words)));
  const ownBase = filled(preset.basePath ?? '', words);
  const basePath = url.pathname.replace(/\/+$/, '') || ownBase;
  const rootPath = basePath.endsWith(ownBase)
    ? basePath.slice(0, basePath.length - ownBase.length)
    : basePath;
  return {
    origin: url.origin,
    modelList: preset.modelList ? { ...preset.modelList, path: basePath + preset.modelList.path } : null,
    batchPaths: preset.batchPaths ? buildBatchPaths(basePath, preset.batchPaths) : null,
    paths: {
      ...buildPaths(basePath, preset.paths, words),
      ...buildPaths(rootPath, preset.rootPaths ?? {}, words),
    },
  };
}

const buildBatchPaths = (basePath: string, { openai, anthropic }: BatchPaths): BatchPaths => ({
  ...(openai && { openai: { files: basePath + openai.files, batches: basePath + openai.batches } }),
  ...(anthropic && { anthropic: basePath + anthropic }),
});

function buildPaths(basePath: string, paths: Preset['paths'], words: Words): Channel['paths'] {
  const built: Partial<Record<Operation, OperationPath>> = {};
  for (const operation of OPERATION_NAMES) {
    const path = paths[operation];
    if (path !== undefined) built[operation] = operationPath(basePath, completed(path, words));
  }
  return built;
}

const completed = (path: OperationPath, words: Words): OperationPath =>
  typeof path === 'string'
    ? filled(path, words)
    : { whole: filled(path.whole, words), streamed: filled(path.streamed, words) };

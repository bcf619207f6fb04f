import { mkdir, open, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkedId, contentTypeOf } from './asset-id.ts';
import type { AssetInfo, AssetStore } from './asset-store.ts';
import { removeFile, unlessMissing } from './missing-file.ts';
import { isPartial, writeNew, writeWhole } from './write-whole.ts';

/** Keeps assets as files of one folder, which is made if need be. Processes that open the same folder share them. */
export async function openFolderStore(folder: string): Promise<AssetStore> {
  await mkdir(folder, { recursive: true });
  const pathOf = (id: string) => join(folder, checkedId(id));

  async function* list({ prefix = '' }: { prefix?: string } = {}): AsyncGenerator<AssetInfo> {
    for await (const { name } of await opendir(folder)) {
      if (!name.startsWith(prefix)) continue;
      const info = await infoOf(folder, name);
      if (info !== undefined) yield info;
    }
  }

  return {
    put: async (id, source, options) => ({ id, ...(await writeWhole(pathOf(id), source, options)) }),
    putNew: (id, bytes) => writeNew(pathOf(id), bytes),
    head: async (id) => infoOf(folder, id),
    open: async (id, range) => {
      const contentType = contentTypeOf(id);
      if (contentType === undefined) return undefined;
      const file = await unlessMissing(open(join(folder, id), 'r'));
      if (file === undefined) return undefined;
      const found = await file.stat();
      if (!found.isFile()) {
        await file.close();
        return undefined;
      }
      const stream = () => file.createReadStream({ ...range });
      const bytes = async () => {
        if (range === undefined) return file.readFile().finally(() => file.close());
        const chunks: Buffer[] = [];
        for await (const chunk of stream()) chunks.push(chunk);
        return Buffer.concat(chunks);
      };
      return { ...toInfo(id, contentType, found), stream, bytes, close: () => file.close() };
    },
    delete: async (...ids) => {
      await Promise.all(ids.map((id) => removeFile(pathOf(id))));
    },
    list,
    sweep: async (olderThanMs, options) => {
      let swept = 0;
      for await (const { id, storedAtMs } of list(options)) {
        if (storedAtMs >= olderThanMs) continue;
        await removeFile(join(folder, id));
        swept += 1;
      }
      for await (const { name } of await opendir(folder)) {
        if (!isPartial(name)) continue;
        const found = await unlessMissing(stat(join(folder, name)));
        if (found !== undefined && found.mtimeMs < olderThanMs) await removeFile(join(folder, name));
      }
      return swept;
    },
    urlOf: async () => undefined,
  };
}

async function infoOf(folder: string, id: string): Promise<AssetInfo | undefined> {
  const contentType = contentTypeOf(id);
  if (contentType === undefined) return undefined;
  const found = await unlessMissing(stat(join(folder, id)));
  return found?.isFile() ? toInfo(id, contentType, found) : undefined;
}

const toInfo = (
  id: string,
  contentType: string,
  { size, mtimeMs, ino }: { size: number; mtimeMs: number; ino: number },
): AssetInfo => ({
  id,
  contentType,
  sizeBytes: size,
  storedAtMs: mtimeMs,
  // A file that replaces another one has an inode of its own.
  etag: `"${[ino, size, Math.round(mtimeMs * 1000)].map((part) => part.toString(36)).join('-')}"`,
});

export interface StoredFile {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** The files of the URLs that image endpoints return. */
export interface FileStore {
  put(name: string, file: StoredFile): void;
  get(name: string): StoredFile | undefined;
  clear(): void;
}

const MAX_FILES = 200;

/** Keeps the newest files in memory. */
export const createFileStore = (): FileStore => {
  const files = new Map<string, StoredFile>();
  return {
    put: (name, file) => {
      files.set(name, file);
      if (files.size > MAX_FILES) for (const oldest of files.keys()) return void files.delete(oldest);
    },
    get: (name) => files.get(name),
    clear: () => files.clear(),
  };
};

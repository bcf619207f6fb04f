import { runBuild } from './build-console.ts';

/** Before the first of the files that need the build: two builds at once would write the same folder. */
export const setup = async (): Promise<void> => {
  await runBuild();
};

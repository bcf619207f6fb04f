/** `npm start`: the whole gateway on this machine, in the foreground. */
import { enableCompileCache } from 'node:module';
import { COMPILE_CACHE } from './compile-cache.ts';

enableCompileCache(process.env.NODE_COMPILE_CACHE || COMPILE_CACHE);
// Only what is imported from here on is taken from the cache.
const { runStarter } = await import('./run-starter.ts');
await runStarter(process);

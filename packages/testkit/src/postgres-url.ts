import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

/** Of the PostgreSQL that the files of a project share: each makes databases of its own there. */
export const postgresUrl = (): string => inject('postgresUrl');

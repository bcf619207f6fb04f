/** Writes the types of the admin API from its OpenAPI description, which `apps/admin` has written before: `turbo run api`. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import openapiTypes, { astToString } from 'openapi-typescript';

const DESCRIPTION = join(import.meta.dirname, '../../admin/.build/openapi.json');
const TYPES = join(import.meta.dirname, '../src/api/admin-api.gen.ts');

const types = await openapiTypes(await readFile(DESCRIPTION, 'utf8'));
await writeFile(TYPES, astToString(types));

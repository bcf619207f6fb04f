import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from './admin-route.ts';

type Json = Record<string, unknown>;

const ERROR = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'path'],
      properties: {
        code: { type: 'string' },
        message: { type: 'string' },
        path: { type: ['string', 'null'] },
      },
    },
  },
};

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

/** The members of a query, each as a parameter. */
function queryParameters(query: z.ZodType): Json[] {
  const { properties, required } = jsonSchema(query, 'input');
  const names = z.array(z.string()).catch([]).parse(required);
  return Object.entries(z.record(z.string(), z.unknown()).catch({}).parse(properties)).map(
    ([name, schema]) => ({ name, in: 'query', required: names.includes(name), schema }),
  );
}

function operation({ method, path, description }: AdminRoute): Json {
  const { summary, query, body, status, reply } = description;
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...queryParameters(query),
  ];
  const bodyType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const replies =
    reply instanceof z.ZodType
      ? { 'application/json': { schema: jsonSchema(reply, 'output') } }
      : Object.fromEntries(reply.map((type) => [type, { schema: { type: 'string' } }]));
  return {
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null
      ? {}
      : { requestBody: { required: true, content: { [bodyType]: { schema: jsonSchema(body, 'input') } } } }),
    responses: {
      [status]: { description: 'Done.', content: replies },
      default: {
        description: 'The call was refused or failed; the message says what to do.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  };
}

/** The admin API as an OpenAPI 3.1 document, made from its routes. */
export function adminOpenapi(routes: readonly AdminRoute[]): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) };
  return {
    openapi: '3.1.0',
    info: { title: 'Gateway administration', version: '1' },
    security: [{ adminToken: [] }],
    paths,
    components: {
      securitySchemes: { adminToken: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ERROR },
    },
  };
}

/** The routes, and one more that describes them all. */
export function withOpenapi(routes: readonly AdminRoute[]): readonly AdminRoute[] {
  const own: AdminRoute = adminRoute({
    method: 'GET',
    path: '/admin/v1/openapi.json',
    summary: 'This description',
    query: NO_QUERY,
    body: NO_BODY,
    reply: z.looseObject({ openapi: z.string() }),
    handle: async (): Promise<Json> => adminOpenapi(all),
  });
  const all: readonly AdminRoute[] = [...routes, own];
  return all;
}

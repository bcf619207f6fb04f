/**
 * Node's `http` as a value. An `import` of `node:http` reads each of its exports, one of which is a WebSocket for which Node
 * loads its own fetch: measured with Node 24.21, 2 to 4 MB in every process for as long as it runs. Types may come from there.
 */
export const http = process.getBuiltinModule('node:http');

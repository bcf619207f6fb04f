/** The least that an edge can be: Express and http-proxy-middleware, nothing else. */
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';

const app = express();
app.disable('x-powered-by');
app.set('etag', false);
app.use(createProxyMiddleware({ target: process.env.SERVICE_URL ?? '' }));
app.listen(Number(process.env.PORT), '127.0.0.1');

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { problem, type Problem, PROBLEM_TYPE } from '@app/orders/http';
import { TIMED_OUT } from './unused-connections';

/** As Node has it, whose own answer to such a request looks there as well. */
type ServerSocket = Socket & { readonly _httpMessage?: ServerResponse | null };

/** Whose answers to earlier requests are waited for: more of what is no HTTP may come meanwhile. */
const waiting = new WeakSet<Socket>();

/** Requests that Node could not even read: the answer is written by hand, and the socket closed. */
export function answerClientError(error: Error & { code?: string }, socket: ServerSocket): void {
  if (waiting.has(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const underWay = socket._httpMessage;
  if (underWay?.req.complete && isWhole(underWay)) {
    // To a request before this one, whose client would take ours for its own.
    waiting.add(socket);
    underWay.once('close', () => {
      waiting.delete(socket);
      answerClientError(error, socket);
    });
    return;
  }
  if (underWay?.headersSent) {
    // Within an answer that has begun ours would be read as a part of it.
    socket.destroy();
    return;
  }
  const answer = problemOf(error.code);
  const body = JSON.stringify(answer);
  socket.end(
    `HTTP/1.1 ${answer.status} ${answer.title}\r\n` +
      `Content-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}

/**
 * Not begun yet, or said to its end, if not sent, or about to be, as a refusal that has seen its request end: no stream
 * that may go on for long.
 */
function isWhole(answer: ServerResponse): boolean {
  return answer.writableEnded || !answer.headersSent || answer.hasHeader('content-length');
}

function problemOf(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return problem('headers_too_large', 'The headers are larger than this server takes');
  }
  if (code === TIMED_OUT) {
    return problem('request_timeout', 'The request took too long to arrive');
  }
  return problem('invalid_request', 'This is not HTTP as this server reads it');
}

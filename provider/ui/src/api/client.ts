/** Requests below the path that Airflow is served under, with the session of the user who looks. */

export class RequestFailed extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
    readonly facts: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "RequestFailed";
  }
}

type Scalar = string | number | boolean | null | undefined;

/** The absolute address of `path`; members of `query` that are empty are left out. */
export function address(path: string, query: Record<string, Scalar> = {}): string {
  const url = new URL(path, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") {
      url.searchParams.set(name, String(value));
    }
  }
  return url.href;
}

/** The document at `path` of our own routes. */
export function ask<T>(path: string, query: Record<string, Scalar>, signal?: AbortSignal): Promise<T> {
  return request<T>(address(`paimon/api/${path}`, query), signal ? { signal } : {});
}

/** A request that answers JSON, or throws `RequestFailed` with the reason that the server gave. */
export async function request<T>(url: string, init: RequestInit = {}): Promise<T> {
  let response: Response;
  try {
    response = await fetch(url, {
      credentials: "same-origin",
      ...init,
      headers: { Accept: "application/json", ...(init.headers as Record<string, string> | undefined) },
    });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") {
      throw cause;
    }
    throw new RequestFailed(0, "unreachable", "The server did not answer. Check the network, then try again.");
  }
  const text = await response.text();
  if (!response.ok) {
    throw refusal(response.status, text);
  }
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new RequestFailed(response.status, "invalid", "The server answered something that is not JSON.");
  }
}

const SAID: Record<number, string> = {
  401: "Your session has ended. Log in again.",
  403: "You may not see this. Ask an administrator for the permission.",
  404: "This does not exist, or not any more.",
};

/** What went wrong, from our error document, from FastAPI's `detail`, or from the status alone. */
export function refusal(status: number, text: string): RequestFailed {
  const said = SAID[status] ?? `The server answered with status ${status}.`;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return new RequestFailed(status, "status", said);
  }
  const error = member(body, "error");
  const message = member(error, "message");
  if (typeof message === "string") {
    const kind = member(error, "kind");
    const facts = member(error, "facts");
    return new RequestFailed(
      status,
      typeof kind === "string" ? kind : "status",
      message,
      typeof facts === "object" && facts !== null ? (facts as Record<string, unknown>) : {},
    );
  }
  const detail = member(body, "detail");
  return new RequestFailed(status, "status", typeof detail === "string" ? `${said} (${detail})` : said);
}

function member(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? (of as Record<string, unknown>)[name] : undefined;
}
